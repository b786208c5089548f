import Base
import Glibc

/// A child process in its own process group whose output is collected. Killed and reaped with the last reference, as
/// every `ChildProcess`.
public final class ObservedProcess: Sendable {
    public let child: ChildProcess
    private let collected: Lock<Collected>

    private struct Collected {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        var openStreams = 2
    }

    /// Starts it with both streams captured. Keeps at least the last `limit` bytes of each.
    /// - Throws: As `ChildProcess.start`.
    public static func start(
        _ settings: ChildProcess.Settings, keeping limit: Int = 1 << 20
    ) async throws(SystemError) -> ObservedProcess {
        var settings = settings
        settings.output = .pipe
        settings.errors = .pipe
        settings.ownGroup = true
        return ObservedProcess(try await ChildProcess.start(settings), limit)
    }

    private init(_ child: ChildProcess, _ limit: Int) {
        self.child = child
        let collected = Lock(Collected())
        self.collected = collected
        for (stream, target) in [(child.output, \Collected.output), (child.errors, \Collected.errors)] {
            guard let stream else { continue }
            // One thread for each stream. It ends when the child and all heirs of the stream are gone.
            Thread.start("child-output") {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while let count = try? check(
                    "read a child's output", { Glibc.read(stream.descriptor, &buffer, 65_536) }), count > 0
                {
                    let bytes = buffer.prefix(count)
                    collected.withLock { collected in
                        collected[keyPath: target] += bytes
                        let excess = collected[keyPath: target].count - 2 * limit
                        if excess > 0 { collected[keyPath: target].removeFirst(excess + limit) }
                    }
                }
                collected.withLock { $0.openStreams -= 1 }
            }
        }
    }

    public var identifier: pid_t { child.identifier }
    public var isRunning: Bool { child.endingIfEnded() == nil }
    public var outputBytes: [UInt8] { collected.withLock { $0.output } }
    public var output: String { String(decoding: outputBytes, as: UTF8.self) }
    public var errors: String { String(decoding: collected.withLock { $0.errors }, as: UTF8.self) }

    /// The complete lines of standard output so far.
    public var lines: [String] {
        output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Waits for the first matching line of standard output. Returns nil if the process ended without one, or after
    /// `limit`.
    public func line(within limit: Duration, where fits: (String) -> Bool) async -> String? {
        let end = ContinuousClock.now + limit
        while true {
            let hasEnded = !isRunning && collected.withLock({ $0.openStreams == 0 })
            if let line = lines.first(where: fits) { return line }
            if hasEnded || ContinuousClock.now >= end { return nil }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits until it has ended and its output is complete. Returns nil if it still runs after `limit`.
    public func ending(within limit: Duration) async -> ChildProcess.Ending? {
        guard let ending = await child.ending(within: limit) else { return nil }
        // A grandchild may hold the pipes; its later output is ignored.
        let end = ContinuousClock.now + .seconds(2)
        while collected.withLock({ $0.openStreams > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(1))
        }
        return ending
    }

    /// Sends SIGTERM, and SIGKILL to its process group after `timeout`.
    @discardableResult
    public func stop(timeout: Duration) async -> ChildProcess.Ending? {
        child.send(SIGTERM)
        if let ending = await ending(within: timeout) { return ending }
        child.sendToGroup(SIGKILL)
        return await ending(within: .seconds(5))
    }
}
