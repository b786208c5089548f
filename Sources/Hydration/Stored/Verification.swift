import Base
import Cryptography
import Posix

/// The check of stored files, on threads of its own and in turns: each MiB of one is followed by a MiB of the
/// next, so that the check of a small file, or of one whose reader has a short timeout, is not
/// behind that of large ones.
enum Verification {
    static let threads = ThreadPool(name: "verifying", threads: 2)

    /// Reads all of a stored file and compares its tag. Ends early when its task is cancelled.
    /// - Parameters:
    ///   - plain: where the plaintext is written; nil: nowhere.
    ///   - progress: told with every MiB.
    /// - Throws: `.cache` where `plain` takes nothing: that says nothing of the stored file.
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
