import Glibc
import Posix

/// Operations on names and attributes, equal on a mount and on the plain filesystem. Blocks; use a pool's thread.
enum NameWork {
    static func paths(in folder: String) throws(SystemError) -> [String] {
        try PrivateFolder.names(in: OpenFile(folder, flags: O_RDONLY | O_DIRECTORY)).map { folder + "/" + $0 }
    }

    /// Returns the seconds to read all names of a folder and the attributes of each, as `ls -l` does.
    static func list(_ folder: String, expecting count: Int) throws -> Double {
        let (found, seconds) = try list(folder)
        guard found == count else {
            throw BenchError(.wrong, "The folder shows \(found) of \(count) names.")
        }
        return seconds
    }

    /// The same if further entries may have arrived.
    static func list(_ folder: String, expectingAtLeast count: Int) throws {
        let found = try list(folder).found
        guard found >= count else {
            throw BenchError(.wrong, "The folder shows \(found) of \(count) names.")
        }
    }

    /// Returns the number of names too.
    static func list(_ folder: String) throws -> (found: Int, seconds: Double) {
        let start = ContinuousClock.now
        let directory = try OpenFile(folder, flags: O_RDONLY | O_DIRECTORY)
        let stream = try openStream(directory)
        defer { closedir(stream) }
        var found = 0
        while let entry = readdir(stream) {
            var status = Glibc.stat()
            let failed = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    fstatat(directory.descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) != 0
                }
            }
            if failed { throw SystemError(code: errno, operation: "look at a file") }
            found += 1
        }
        // Includes `.` and `..`.
        return (found - 2, FileWork.seconds(since: start))
    }

    private static func openStream(_ directory: OpenFile) throws(SystemError) -> OpaquePointer {
        let copy = try check("read a folder") { openat(directory.descriptor, ".", O_RDONLY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            throw SystemError(code: errno, operation: "read a folder")
        }
        return stream
    }

    /// Calls lstat for every path, `rounds` times. Returns the calls per second.
    static func statRate(_ paths: [String], rounds: Int) throws(SystemError) -> Double {
        let start = ContinuousClock.now
        for _ in 0..<rounds {
            for path in paths {
                var status = Glibc.stat()
                try check("look at a file") { lstat(path, &status) }
            }
        }
        return Double(paths.count * rounds) / FileWork.seconds(since: start)
    }

    /// Returns the microseconds to open, read and close each of some small files.
    static func openReadClose(_ paths: [String], rounds: Int) throws(SystemError) -> Double {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 4096)
        defer { buffer.deallocate() }
        let start = ContinuousClock.now
        for _ in 0..<rounds {
            for path in paths { _ = try OpenFile(path, flags: O_RDONLY).read(into: buffer, at: 0) }
        }
        return FileWork.seconds(since: start) * 1e6 / Double(paths.count * rounds)
    }

    /// Creates `count` files of a few bytes each: `note 1.txt`, … from several threads, as a busy sender does.
    static func fill(
        _ folder: String, count: Int, size: Int = 12, named prefix: String = "note "
    ) async throws {
        try await withThrowingTaskGroup { group in
            for part in 0..<4 {
                group.addTask {
                    try await ThreadPool.shared.run { () throws(SystemError) in
                        for number in stride(from: part, to: count, by: 4) {
                            try FileWork.make(
                                "\(folder)/\(prefix)\(number).txt", size: size, seed: UInt64(number))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
