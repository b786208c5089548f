import Base
import Glibc
import Posix

/// Operations on the bytes of a file, equal on a mount and on the plain filesystem. Blocks; use a pool's thread.
enum FileWork {
    /// Writes a file of `size` bytes in pieces of 1 MiB. Equal seeds give equal bytes, which no layer can compress or
    /// share.
    static func make(_ path: String, size: Int, seed: UInt64) throws(SystemError) {
        let length = min(1 << 20, max(4096, size))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 4096)
        defer { buffer.deallocate() }
        fill(buffer, seed: seed)
        let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_EXCL)
        var position = 0
        while position < size {
            // Every block differs, to expose a wrong order.
            buffer.storeBytes(of: UInt64(position) ^ seed, as: UInt64.self)
            let count = min(buffer.count, size - position)
            try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: UInt64(position))
            position += count
        }
    }

    private static func fill(_ buffer: UnsafeMutableRawBufferPointer, seed: UInt64) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        for word in 0..<buffer.count / 8 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            buffer.storeBytes(of: state, toByteOffset: word * 8, as: UInt64.self)
        }
    }

    /// The seconds until the first byte and until the end, and a sum over the bytes.
    struct Reading: Sendable {
        var first = 0.0
        var whole = 0.0
        var sum: UInt64 = 0

        /// - Throws: `.wrong` if the bytes have another sum.
        func requireSum(_ expected: UInt64) throws(BenchError) {
            guard sum == expected else {
                throw BenchError(.wrong, "The mount gave other bytes than were sent.")
            }
        }
    }

    /// Opens a file and reads it to its end: one byte, then 1 MiB at a time.
    static func read(_ path: String) throws(SystemError) -> Reading {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var reading = Reading()
        let start = ContinuousClock.now
        let file = try OpenFile(path, flags: O_RDONLY)
        _ = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<1]), at: 0)
        reading.first = seconds(since: start)
        var position: UInt64 = 0
        while true {
            let count = try file.read(into: buffer, at: position)
            if count == 0 { break }
            if count >= 8 { reading.sum &+= buffer.loadUnaligned(as: UInt64.self) }
            position += UInt64(count)
        }
        reading.whole = seconds(since: start)
        reading.sum &+= position
        return reading
    }

    /// Returns the seconds to open a file and read 4 KiB at `offset`.
    static func readPage(_ path: String, at offset: UInt64) throws(SystemError) -> Double {
        let start = ContinuousClock.now
        _ = try OpenFile(path, flags: O_RDONLY).read(count: 4096, at: offset)
        return seconds(since: start)
    }

    /// Reads 4 KiB at equal places for each subject. Returns the reads per second.
    static func randomReads(_ file: OpenFile, size: Int, count: Int) throws(SystemError) -> Double {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 4096)
        defer { buffer.deallocate() }
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        let start = ContinuousClock.now
        for _ in 0..<count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            _ = try file.read(into: buffer, at: state % UInt64(size / 4096) * 4096)
        }
        return Double(count) / seconds(since: start)
    }

    /// Reads an open file from beginning to end, 1 MiB at a time. Returns the seconds.
    static func readThrough(_ file: OpenFile) throws(SystemError) -> Double {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        let start = ContinuousClock.now
        var position: UInt64 = 0
        while true {
            let count = try file.read(into: buffer, at: position)
            if count == 0 { return seconds(since: start) }
            position += UInt64(count)
        }
    }

    /// Drops a file's pages from the kernel's cache, so that the next read reaches the disk or the daemon.
    static func forget(_ path: String) throws(SystemError) {
        let file = try OpenFile(path, flags: O_RDONLY)
        posix_fadvise(file.descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED))
    }

    /// Writes a plain file's dirty pages to disk and drops them.
    static func settle(_ path: String) throws(SystemError) {
        let file = try OpenFile(path, flags: O_RDWR)
        try file.synchronise()
        posix_fadvise(file.descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED))
    }

    static func seconds(since start: ContinuousClock.Instant) -> Double {
        (ContinuousClock.now - start) / .seconds(1)
    }
}

extension Double {
    /// Converts bytes in this many seconds to MB/s (10^6).
    func megabytesPerSecond(of bytes: Int) -> Double { Double(bytes) / 1e6 / self }
}
