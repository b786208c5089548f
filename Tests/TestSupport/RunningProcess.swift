import Base
import Glibc
import Posix

/// A child process whose output is collected while it runs. Killed and reaped at the latest when the
/// last reference goes, and by the kernel when the test process ends.
public final class RunningProcess: Sendable {
    public let child: ChildProcess
    private let collected: Lock<(output: [UInt8], errors: [UInt8], open: Int)>

    /// Starts it with both streams captured and in a process group of its own.
    public static func start(_ settings: ChildProcess.Settings) async throws -> RunningProcess {
        var settings = settings
        settings.output = .pipe
        settings.errors = .pipe
        settings.ownGroup = true
        return RunningProcess(try await ChildProcess.start(settings))
    }

    private init(_ child: ChildProcess) {
        self.child = child
        let collected = Lock((output: [UInt8](), errors: [UInt8](), open: 2))
        self.collected = collected
        for (stream, isOutput) in [(child.output, true), (child.errors, false)] {
            guard let stream else { continue }
            // A thread for each stream: it ends when the child, and all that inherited it, are gone.
            Thread.start("test-output") {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while let count = try? check("read output", { read(stream.descriptor, &buffer, 65_536) }),
                    count > 0
                {
                    let bytes = buffer.prefix(count)
                    collected.withLock { if isOutput { $0.output += bytes } else { $0.errors += bytes } }
                }
                collected.withLock { $0.open -= 1 }
            }
        }
    }

    public var processIdentifier: pid_t { child.identifier }
    public var outputBytes: [UInt8] { collected.withLock { $0.output } }
    public var output: String { String(decoding: outputBytes, as: UTF8.self) }
    public var errors: String { String(decoding: collected.withLock { $0.errors }, as: UTF8.self) }
    public var isRunning: Bool { child.endingIfEnded() == nil }

    /// Complete lines of standard output so far.
    public var lines: [String] {
        output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Waits for a line of standard output that fits; throws, with all output, when none comes.
    @discardableResult
    public func line(
        _ what: String, within limit: Duration = .seconds(30), where fits: (String) -> Bool = { _ in true }
    ) async throws -> String {
        let end = ContinuousClock.now + limit
        while true {
            let hasEnded = !isRunning && collected.withLock({ $0.open == 0 })
            if let line = lines.first(where: fits) { return line }
            if hasEnded || ContinuousClock.now >= end {
                throw WaitedInVain(
                    "\(hasEnded ? "ended without" : "did not say") \(what)\n--- output\n\(output)\n--- errors\n\(errors)"
                )
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits until it has ended and all its output is here; throws when it still runs after `limit`.
    @discardableResult
    public func ending(within limit: Duration = .seconds(30)) async throws -> ChildProcess.Ending {
        guard let ending = await child.ending(within: limit) else {
            throw WaitedInVain("still running after \(limit)\n--- output\n\(output)\n--- errors\n\(errors)")
        }
        // A grandchild may hold the pipes; what it says later is not waited for.
        let end = ContinuousClock.now + .seconds(2)
        while collected.withLock({ $0.open > 0 }), ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(2))
        }
        return ending
    }

    public func send(_ signal: Int32) { child.send(signal) }
    public func sendToGroup(_ signal: Int32) { child.sendToGroup(signal) }

    /// SIGTERM, and the end that follows.
    @discardableResult
    public func terminate(within limit: Duration = .seconds(30)) async throws -> ChildProcess.Ending {
        send(SIGTERM)
        return try await ending(within: limit)
    }
}
