import Cryptography
import Glibc

/// What the bytes of a file that is read from front to end must go through, measured alone: the
/// cryptography of the wire, of the file, and of the CryptoFile that is kept. The list is that of the code
/// (`docs/architecture.md`, "The way of the data"): TLS, `ChunkSink`, `CachedStream`, `PassWork`, `BlockTags`. What
/// comes in order is not sealed into the cache.
enum Primitives {
    static let name = "its cryptography alone"

    /// Bytes that go through each at once: a chunk.
    private static let piece = 4 << 20
    private static let rounds = 16

    /// Processor seconds for 2^30 bytes through all of them. Blocks for about half a second.
    static func secondsPerGibibyte() throws -> Double {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 4096)
        defer { buffer.deallocate() }
        buffer.initializeMemory(as: UInt8.self, repeating: 0x5a)
        var box = try StreamBox(
            key: [UInt8](repeating: 1, count: StreamBox.keyLength),
            nonce: [UInt8](repeating: 2, count: StreamBox.nonceLength))
        var (chunkDigest, fileDigest) = (SHA256(), SHA512())
        let record = TLSRecordWork()
        return time {
            // On the wire: TLS, then the key that relay and recipient agreed on, then the chunk's digest.
            record.open(buffer)
            box.open(buffer)
            chunkDigest.update(UnsafeRawBufferPointer(buffer))
            // To the reader: the file's own key.
            box.transform(buffer, at: 0)
            // The whole: decrypted once more, its digest and tag, and a key of its own for what is kept.
            box.transform(buffer, at: 0)
            fileDigest.update(UnsafeRawBufferPointer(buffer))
            box.authenticate(UnsafeRawBufferPointer(buffer))
            box.seal(buffer)
            // What lies on the disk is the one that was made: a tag of each block, made, and made once more of what
            // is read back.
            for _ in 0..<2 {
                var tagging = BlockTagging()
                tagging.add(UnsafeRawBufferPointer(buffer))
            }
        } * Double(1 << 30) / Double(piece)
    }

    /// Processor seconds of one call on this thread, the mean of several.
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
