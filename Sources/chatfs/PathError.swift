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
        guard error.nearest(SystemError.self)?.code == ENOTCONN else { return Base.sentence(of: error) }
        return "The process of this mount has died; 'chatfs unmount' with its mountpoint removes the mount."
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
