import Base
import ChatCore
import Posix
import XFTP

/// The remote chunks of one file. The program uses XFTP, tests use memory.
public protocol ChunkSource: Sendable {
    var chunks: [ChunkPlace] { get }
    /// Key and nonce of the encrypted file on the relays.
    var arguments: FileArguments { get }

    /// Downloads a chunk, counted from 0, and compares it with the description.
    /// - Parameter progress: Called with the number of received bytes; also proves that the relay responds.
    /// - Throws: The error that readers get as `FileProblem(error)`, for XFTP an `XFTPError`: `damaged` for a
    ///   chunk that differs from the description. `CancellationError` if the task was cancelled.
    func fetch(
        _ chunk: Int, progress: @escaping @Sendable (_ received: UInt64) -> Void
    ) async throws -> any FetchedChunk

    /// Reads a chunk of an earlier mount at its position in the stream. Returns nil if it differs from the
    /// description. Blocks on disk I/O.
    func read(_ chunk: Int, from file: OpenFile) throws(SystemError) -> (any FetchedChunk)?
}

/// An arrived chunk that matches its description. Immutable and thread-safe; its memory is reused after the
/// last reference is gone.
public protocol FetchedChunk: AnyObject, Sendable {
    /// As they are on the relay.
    var bytes: UnsafeRawBufferPointer { get }
}

/// Creates the chunk source of a claimed file from its description.
public typealias ChunkSourceMaker = @Sendable (ClaimedFile) async throws -> any ChunkSource
