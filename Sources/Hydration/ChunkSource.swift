import Base
import ChatCore

/// Size and place of one chunk.
public struct ChunkPlace: Hashable, Sendable {
    /// Bytes in the encrypted file, a multiple of 65,536.
    public var size: UInt32
    /// Any name for the relay that holds it: chunks of one relay share a bound.
    public var relay: String

    public init(size: UInt32, relay: String) {
        self.size = size
        self.relay = relay
    }
}

/// One described file, fetched chunk by chunk. In the program XFTP, in tests memory.
public protocol ChunkSource: Sendable {
    var chunks: [ChunkPlace] { get }
    /// Key and nonce of the file as it lies on the relays.
    var arguments: FileArguments { get }

    /// Fetches a chunk (from 0) and compares it with the description. `progress` is a sign of life, with
    /// how many of its bytes have come.
    /// - Throws: why it did not come, told to readers as `FileProblem(error)`: of XFTP an `XFTPError`, `damaged`
    ///   when it is another chunk than the described one. `CancellationError` when its task was cancelled.
    func fetch(
        _ chunk: Int, progress: @escaping @Sendable (_ received: UInt64) -> Void
    ) async throws -> any FetchedChunk

    /// Starts the check of the file as a whole.
    /// - Throws: `XFTPError.malformedDescription` when the description has no proper key.
    func wholeCheck() throws -> any WholeCheck

    /// Encrypts decrypted bytes of the stream in place: they are those on the relays again. The tag at the end stays
    /// as it is. Blocks for about 0.4 ms per MiB.
    func encrypt(_ bytes: UnsafeMutableRawBufferPointer, at position: UInt64)
}

/// A chunk that has arrived and is the described one. Its memory is used again when the last reference
/// goes. Any thread; nothing here changes.
public protocol FetchedChunk: AnyObject, Sendable {
    var count: Int { get }
    /// Gives its bytes as they lie on the relay.
    func withEncrypted(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows
    /// Decrypts the bytes from `offset` of the chunk on into all of `buffer`. Blocks for about 0.4 ms per MiB.
    func decrypt(from offset: Int, into buffer: UnsafeMutableRawBufferPointer)
}

/// Takes the encrypted stream from front to end, the 16 bytes of the tag included, and says at the end whether they
/// are one file that its sender encrypted.
public protocol WholeCheck {
    /// The next bytes as they lie on the relays.
    /// - Throws: what ends the check; of XFTP nothing.
    mutating func add(encrypted bytes: UnsafeRawBufferPointer) throws
    /// - Throws: `XFTPError.damaged` when the file is another one.
    func finish() throws
}

/// Makes the source of a claimed file's chunks from its description.
public typealias ChunkSourceMaker = @Sendable (ClaimedFile) async throws -> any ChunkSource
