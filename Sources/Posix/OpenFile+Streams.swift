import CLinux
import Glibc

// Pipes, which have no offsets, and files in memory.
extension OpenFile {
    /// Creates an unnamed file in memory.
    /// - Throws: As memfd_create(2).
    public static func inMemory() throws(SystemError) -> OpenFile {
        OpenFile(adopting: try check("make a file in memory") { chatfs_open_in_memory("chatfs") })
    }

    /// Writes all of `buffer` to a pipe. Threads of `Thread.start` have SIGPIPE blocked.
    /// - Throws: EPIPE without a reader; as write(2).
    public func send(_ buffer: UnsafeRawBufferPointer) throws(SystemError) {
        var sent = 0
        while sent < buffer.count {
            sent += try check("write to a pipe") {
                Glibc.write(descriptor, buffer.baseAddress! + sent, buffer.count - sent)
            }
        }
    }

    /// - Throws: As for a buffer.
    public func send(_ bytes: [UInt8]) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
            try send(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Fills `buffer` from a pipe; fewer bytes only without a writer.
    /// - Throws: As read(2).
    public func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let count = try check("read from a pipe") {
                Glibc.read(descriptor, buffer.baseAddress! + filled, buffer.count - filled)
            }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Reads everything from a pipe.
    /// - Throws: EFBIG for more than `limit` bytes; as read(2).
    public func receiveAll(limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(limit + 1, 65_536), alignment: 16)
        defer { piece.deallocate() }
        while true {
            let count = try receive(into: piece)
            bytes += piece[..<count]
            if bytes.count > limit { throw SystemError(code: EFBIG, operation: "read from a pipe") }
            if count < piece.count { return bytes }
        }
    }
}
