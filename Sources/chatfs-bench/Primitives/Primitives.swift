import Cryptography
import Glibc

/// The cryptography for the bytes of a file that is read from front to end, measured alone: of the wire and of the file,
/// which is kept as it came. Follows the code: TLS, `ChunkSink`, `ChunkStore`, `BlockTags`. Sequential
/// bytes are not sealed into the cache.
enum Primitives {
    static let name = "its cryptography alone"

    /// The bytes processed at once: a chunk.
    private static let piece = 4 << 20
    private static let rounds = 16

    /// Returns the processor seconds for 2^30 bytes. Blocks for about half a second.
    static func secondsPerGibibyte() throws -> Double {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 4096)
        defer { buffer.deallocate() }
        buffer.initializeMemory(as: UInt8.self, repeating: 0x5a)
        var box = try StreamBox(
            key: [UInt8](repeating: 1, count: StreamBox.keyLength),
            nonce: [UInt8](repeating: 2, count: StreamBox.nonceLength))
        var chunkDigest = SHA256()
        let record = TLSRecordWork()
        return time {
            // On the wire: TLS, the key agreed on by relay and recipient, and the chunk's digest.
            record.open(buffer)
            box.open(buffer)
            chunkDigest.update(UnsafeRawBufferPointer(buffer))
            // For the reader, and the tag of the whole file: the file's own key.
            box.transform(buffer, at: 0)
            box.authenticate(UnsafeRawBufferPointer(buffer))
            // For the stored copy: a tag of each block.
            BlockTags().cover(0, with: UnsafeRawBufferPointer(buffer))
        } * Double(1 << 30) / Double(piece)
    }

    /// Returns the processor seconds of one call on this thread, the mean of several.
    private static func time(_ work: () -> Void) -> Double {
        work()
        let start = now()
        for _ in 0..<rounds { work() }
        return (now() - start) / Double(rounds)
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
