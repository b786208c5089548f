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

    /// Fetches a chunk (from 0), checks it against the description and gives its decrypted bytes to
    /// `receive`, once and whole, on a thread that may block. What `receive` throws is thrown on.
    /// `progress` is a sign of life: bytes are coming.
    func fetch(
        _ chunk: Int, progress: @escaping @Sendable () -> Void,
        receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws

    /// Starts the check of the file as a whole.
    func wholeCheck() throws -> any WholeCheck
}

/// Takes the decrypted stream from front to end, the 16 bytes of the tag included, and says at the end
/// whether the file is the one that was described.
public protocol WholeCheck {
    /// May use the memory for its own work: the bytes are not those of before afterwards.
    mutating func add(_ stream: UnsafeMutableRawBufferPointer) throws
    func finish() throws
}
