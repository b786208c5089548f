import Base
import CLinux
import Glibc
import TestSupport
import Testing

@testable import Posix

/// Partial and interrupted reads and writes.
@Suite("Streams of bytes", .timeLimit(.minutes(10)))
struct PipeTests {
    private struct Pipe {
        let reading: OpenFile
        let writing: OpenFile

        init() throws {
            var ends: [Int32] = [0, 0]
            try check("make a pipe") { chatfs_pipe(&ends) }
            (reading, writing) = (OpenFile(adopting: ends[0]), OpenFile(adopting: ends[1]))
        }

        /// Closes an end under its object; the number may then belong to another file.
        static func close(_ end: OpenFile) throws {
            let null = try OpenFile("/dev/null", flags: O_RDONLY)
            try check("close a pipe") { dup2(null.descriptor, end.descriptor) }
        }
    }

    private static let bytes = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

    @Test("more than a pipe's capacity arrives in order")
    func long() async throws {
        let pipe = try Pipe()
        let writing = Lock<OpenFile?>(pipe.writing)
        Thread.start("writes") {
            let file = writing.withLock { $0.take() }
            try? file?.send(Self.bytes)
        }
        let (reading, count) = (pipe.reading, Self.bytes.count)
        let received = try await ThreadPool.shared.run { () throws(SystemError) -> [UInt8] in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
            defer { buffer.deallocate() }
            #expect(try reading.receive(into: buffer) == count)
            return Array(buffer)
        }
        #expect(received == Self.bytes)
    }

    @Test("signals do not interrupt a wait for bytes")
    func interrupted() async throws {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR2, &action, nil)
        let pipe = try Pipe()
        let thread = Lock<pthread_t?>(nil)
        let received = Lock<Result<[UInt8], SystemError>?>(nil)
        let reading = pipe.reading
        Thread.start("reads") {
            var set = sigset_t()
            sigemptyset(&set)
            sigaddset(&set, SIGUSR2)
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            thread.withLock { $0 = pthread_self() }
            let result = Result { () throws(SystemError) in try reading.receiveAll(limit: 100) }
            // A later signal goes to a living thread.
            thread.withLock { $0 = nil }
            received.withLock { $0 = result }
        }
        try await wait(until: "it reads") { thread.withLock { $0 } != nil }
        for byte in UInt8(0)..<20 {
            thread.withLock { if let thread = $0 { pthread_kill(thread, SIGUSR2) } }
            try pipe.writing.send([byte])
            await Task.yield()
        }
        #expect(received.withLock { $0 } == nil)
        // The last writer goes, which ends the wait.
        try Pipe.close(pipe.writing)
        try await wait(until: "it has ended") { received.withLock { $0 } != nil }
        #expect(try received.withLock { try $0?.get() } == Array(UInt8(0)..<20))
    }

    @Test("streams have a maximum length")
    func limits() throws {
        for length in [0, 1, 99, 100, 101, 300] {
            let pipe = try Pipe()
            try pipe.writing.send([UInt8](repeating: 1, count: length))
            let reading = pipe.reading
            try Pipe.close(pipe.writing)
            if length <= 100 {
                #expect(try reading.receiveAll(limit: 100).count == length)
            } else {
                #expect(throws: SystemError(code: EFBIG, operation: "read from a pipe")) {
                    try reading.receiveAll(limit: 100)
                }
            }
        }
    }

    @Test("reads are short only without a writer")
    func end() throws {
        let pipe = try Pipe()
        try pipe.writing.send([1, 2, 3])
        try pipe.writing.send([])
        try Pipe.close(pipe.writing)
        var buffer = [UInt8](repeating: 9, count: 8)
        let count = try buffer.withUnsafeMutableBytes { try pipe.reading.receive(into: $0) }
        #expect(count == 3 && buffer == [1, 2, 3, 9, 9, 9, 9, 9])
        #expect(try pipe.reading.receiveAll(limit: 8) == [])
    }

    @Test("a missing reader is an error, not a signal")
    func brokenPipe() async throws {
        let pipe = try Pipe()
        try Pipe.close(pipe.reading)
        let writing = pipe.writing
        await #expect(throws: SystemError(code: EPIPE, operation: "write to a pipe")) {
            try await ThreadPool.shared.run { () throws(SystemError) in
                // A process that is being started by another test has the other end until it runs its program.
                while true { try writing.send([1]) }
            }
        }
    }

    @Test("a file in memory ends with its descriptor")
    func memory() throws {
        let file = try OpenFile.inMemory()
        try file.write([1, 2, 3], at: 1 << 20)
        #expect(try file.size() == 1 << 20 + 3)
        #expect(try file.read(count: 5, at: (1 << 20) - 1) == [0, 1, 2, 3])
        #expect(try file.status().st_nlink == 0)
        #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
}
