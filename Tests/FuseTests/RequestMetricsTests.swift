import Glibc
import Metrics
import Posix
import TestSupport
import Testing

@testable import FileSystem
@testable import Fuse

@Suite("Metrics of requests", .timeLimit(.minutes(10)))
struct RequestMetricsTests {
    private static func samples(_ kernel: SimulatedKernel, _ name: String) -> [MetricFamily.Sample] {
        kernel.context.metrics.families.first { $0.name == name }?.samples ?? []
    }

    private static func numbers(_ kernel: SimulatedKernel, _ name: String) -> [String: UInt64] {
        let samples = samples(kernel, name).map { ($0.labels["operation"] ?? "", $0.value ?? 0) }
        return Dictionary(uniqueKeysWithValues: samples)
    }

    private static func durations(_ kernel: SimulatedKernel) -> [String: UInt64] {
        let samples = samples(kernel, "chatfs_request_duration_seconds").map {
            ($0.labels["operation"] ?? "", $0.durations?.total ?? 0)
        }
        return Dictionary(uniqueKeysWithValues: samples)
    }

    /// The reply is sent before its latency is recorded.
    private static func waitUntilRecorded(_ expected: [String: UInt64], _ kernel: SimulatedKernel)
        async throws
    {
        try await wait(until: "the latencies are recorded") { durations(kernel) == expected }
    }

    @Test("every request has one latency", arguments: [false, true])
    func answered(isLate: Bool) async throws {
        let files = try NotedFiles()
        files.state.withLock { $0.isLate = isLate }
        let kernel = try await SimulatedKernel(files)
        for _ in 0..<3 { _ = try await kernel.ask(1, node: 1, bytes(of: "a")) }
        _ = try await kernel.ask(3, node: 3, bytes(of: [0, 0] as [UInt64]))
        // FUSE_OPENDIR and FUSE_LSEEK are refused, the second by libfuse alone; FUSE_FORGET has no reply.
        _ = try await kernel.ask(27, node: 3, bytes(of: [0, 0] as [UInt32]))
        _ = try await kernel.ask(46, node: 3, bytes(of: [0, 0, 0] as [UInt64]))
        try kernel.send(2, node: 3, bytes(of: [1 as UInt64]))
        try await Self.waitUntilRecorded(
            ["init": 1, "lookup": 3, "getattr": 1, "opendir": 1, "lseek": 1, "forget": 1], kernel)
        #expect(Self.numbers(kernel, "chatfs_requests") == Self.durations(kernel))
        #expect(Self.numbers(kernel, "chatfs_requests_pending").values.allSatisfy { $0 == 0 })
    }

    @Test("a waiting request is pending")
    func pending() async throws {
        let files = try NotedFiles()
        files.state.withLock { ($0.isLate, $0.waitsForCancellation) = (true, true) }
        let kernel = try await SimulatedKernel(files)
        let waiting = try kernel.send(1, node: 1, bytes(of: "a"))
        try await wait(until: "it arrived") { Self.numbers(kernel, "chatfs_requests")["lookup"] == 1 }
        #expect(Self.numbers(kernel, "chatfs_requests_pending")["lookup"] == 1)
        #expect(Self.durations(kernel)["lookup"] == nil)
        // FUSE_INTERRUPT.
        try kernel.send(36, node: 0, bytes(of: [waiting]))
        #expect(try await kernel.reply(to: waiting) == .refused(EINTR))
        try await Self.waitUntilRecorded(["init": 1, "lookup": 1, "interrupt": 1], kernel)
        #expect(Self.numbers(kernel, "chatfs_requests_pending")["lookup"] == 0)
    }

    @Test("the debug log has each request from reading to reply")
    func log() async throws {
        let folder = try TemporaryFolder()
        await #expect(processExitsWith: .success) { [path = folder.path("stderr") as String] in
            let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_APPEND)
            dup2(file.descriptor, STDERR_FILENO)
            unsetenv("JOURNAL_STREAM")
            Log.configure(level: .debug)
            let files = try NotedFiles()
            let kernel = try await SimulatedKernel(files)
            files.state.withLock { $0.isLate = true }
            let unique = try kernel.send(1, node: 3, bytes(of: "a"))
            _ = try await kernel.reply(to: unique)
            let line = "errno=0 microseconds="
            try await wait(until: "it is logged") {
                String(decoding: try OpenFile(path, flags: O_RDONLY).readAll(limit: 1 << 20), as: UTF8.self)
                    .contains(line)
            }
            _exit(unique == 4 ? 0 : 1)
        }
        let lines = String(decoding: try folder.read("stderr"), as: UTF8.self).split(separator: "\n")
        #expect(lines.contains("chatfs fuse: request read: operation=lookup node=3 request=4"), "\(lines)")
        #expect(
            lines.contains {
                $0.wholeMatch(
                    of:
                        #/chatfs fuse: request answered: operation=lookup node=3 errno=0 microseconds=[0-9]+ request=4/#
                ) != nil
            }, "\(lines)")
    }

    @Test("failures have operation and errno")
    func failures() async throws {
        let files = try NotedFiles()
        let kernel = try await SimulatedKernel(files)
        for code in [EIO, EPERM] {
            files.state.withLock { $0.error = FileSystemError(code, isFailure: code == EIO) }
            _ = try await kernel.ask(1, node: 1, bytes(of: "a"))
        }
        #expect(
            Self.samples(kernel, "chatfs_request_failures") == [
                MetricFamily.Sample(1, ["operation": "lookup", "error": "EIO"])
            ])
    }
}
