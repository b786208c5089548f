import Base
import Cryptography
import Posix

/// Verifies stored files on threads of its own, in turns of 1 MiB each, so that small files and readers with
/// short timeouts do not wait for large files.
enum Verification {
    static let threads = ThreadPool(name: "verifying", threads: 2)

    /// Reads a stored file and compares its tag. Ends early if the task is cancelled.
    /// - Parameters:
    ///   - plain: Receives the plaintext; nil for none.
    ///   - progress: Called after each MiB.
    /// - Throws: `.cache` for a write error of `plain`, which does not concern the stored file.
    static func run(
        _ reader: CryptoFileReader, into plain: OpenFile? = nil, progress: @Sendable () -> Void
    ) async throws {
        var verification = reader.beginVerification()
        var isDone = false
        while !isDone {
            try Task.checkCancellation()
            (verification, isDone) = try await threads.run { [verification] () throws(any Error) in
                var next = verification
                let isDone = try step(&next, reader, into: plain)
                return (next, isDone)
            }
            progress()
        }
    }

    private static func step(
        _ verification: inout CryptoFileReader.Verification, _ reader: CryptoFileReader,
        into plain: OpenFile?
    ) throws -> Bool {
        guard let plain else { return try reader.step(&verification) }
        var position = verification.position
        var failure: SystemError?
        do throws(CryptographyError) {
            return try reader.step(&verification) { (piece) throws(CryptographyError) in
                do throws(SystemError) {
                    try plain.write(piece, at: position)
                } catch {
                    failure = error
                    throw CryptographyError(error)
                }
                position += UInt64(piece.count)
            }
        } catch {
            if let failure { throw HydrationError(cacheFile: failure) }
            throw error
        }
    }
}
