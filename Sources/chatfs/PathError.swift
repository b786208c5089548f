import Base
import Glibc
import Posix

/// An error about a path, with the path in front: "report.pdf: Could not …".
struct PathError: DescribedError {
    let sentence: String
    let cause: (any Error)?

    /// - Parameter path: The path as the user typed it.
    init(_ path: String, _ error: any Error) {
        sentence = "\(path): \(Self.words(of: error))"
        cause = (error as? any DescribedError)?.cause
    }

    private static func words(of error: any Error) -> String {
        guard Self.isDeadMount(error) else { return Base.sentence(of: error) }
        return "The process of this mount has died; 'chatfs unmount' with its mountpoint removes the mount."
    }

    /// Returns true if the cause is a mount whose daemon is dead.
    private static func isDeadMount(_ error: any Error) -> Bool {
        var next: (any Error)? = error
        while let error = next {
            if let system = error as? SystemError { return system.code == ENOTCONN }
            next = (error as? any DescribedError)?.cause
        }
        return false
    }
}

/// Runs `body` and prefixes its errors with `path`.
@discardableResult
func naming<Result>(_ path: String, _ body: () throws -> Result) throws(PathError) -> Result {
    do {
        return try body()
    } catch {
        throw PathError(path, error)
    }
}
