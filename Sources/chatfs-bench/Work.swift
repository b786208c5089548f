import Base
import Glibc
import Posix

/// The work that is done alike on a mount and on the plain filesystem. Blocking; on a pool thread.
enum Work {
    /// Bytes that no layer can compress or share, the same for the same seed.
    static func fill(_ buffer: UnsafeMutableRawBufferPointer, seed: UInt64) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        for word in buffer.bindMemory(to: UInt64.self).indices {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            buffer.storeBytes(of: state, toByteOffset: word * 8, as: UInt64.self)
        }
    }

    /// Makes a file of `size` bytes, a multiple of 64 KiB, in writes of 1 MiB, and closes it.
    static func write(_ path: String, size: Int, seed: UInt64) throws(SystemError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(size, 1 << 20), alignment: 4096)
        defer { buffer.deallocate() }
        fill(buffer, seed: seed)
        let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_EXCL)
        var position = 0
        while position < size {
            // Every block differs, so that a mistake in the order would show.
            buffer.storeBytes(of: UInt64(position) ^ seed, as: UInt64.self)
            let count = min(buffer.count, size - position)
            try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: UInt64(position))
            position += count
        }
    }

    /// Reads a file to its end in reads of 1 MiB. Answers the seconds until the first byte, until the
    /// end, and a sum over the bytes.
    static func read(_ path: String) throws(SystemError) -> (first: Double, whole: Double, sum: UInt64) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        let start = ContinuousClock.now
        let file = try OpenFile(path, flags: O_RDONLY)
        var position: UInt64 = 0
        var first = 0.0
        var sum: UInt64 = 0
        while true {
            let wanted = position == 0 ? UnsafeMutableRawBufferPointer(rebasing: buffer[..<1]) : buffer
            let count = try file.read(into: wanted, at: position)
            if position == 0 { first = seconds(since: start) }
            if count == 0 { break }
            if count >= 8 { sum &+= buffer.loadUnaligned(as: UInt64.self) }
            position += UInt64(count)
        }
        return (first, seconds(since: start), sum &+ position)
    }

    /// Drops a file's pages from the kernel's cache, so that the next read goes to the disk or the
    /// daemon.
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

    /// lstat of every path, `rounds` times; calls a second.
    static func statRate(_ paths: [String], rounds: Int) throws(SystemError) -> Double {
        let start = ContinuousClock.now
        for _ in 0..<rounds {
            for path in paths {
                var status = Glibc.stat()
                try check("look at a file") { lstat(path, &status) }
            }
        }
        return Double(paths.count * rounds) / seconds(since: start)
    }

    /// Seconds to read all names of a folder.
    static func listSeconds(_ path: String, expecting count: Int) throws -> Double {
        let start = ContinuousClock.now
        let names = try PrivateFolder.names(in: OpenFile(path, flags: O_RDONLY | O_DIRECTORY))
        let seconds = seconds(since: start)
        guard names.count >= count else {
            throw BenchError("The folder shows \(names.count) of \(count) names.")
        }
        return seconds
    }
}

extension Double {
    /// Bytes in this many seconds as MB/s (10^6).
    func megabytesPerSecond(of bytes: Int) -> Double { Double(bytes) / 1e6 / self }
}
