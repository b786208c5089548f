import Glibc
import Posix

/// A child process of a test. Failed waits throw with the child's complete output.
public final class RunningProcess: Sendable {
    private let process: ObservedProcess

    /// Starts it with both streams captured, in its own process group.
    public static func start(_ settings: ChildProcess.Settings) async throws -> RunningProcess {
        RunningProcess(try await ObservedProcess.start(settings, keeping: 64 << 20))
    }

    private init(_ process: ObservedProcess) { self.process = process }

    public var child: ChildProcess { process.child }
    public var processIdentifier: pid_t { process.identifier }
    public var outputBytes: [UInt8] { process.outputBytes }
    public var output: String { process.output }
    public var errors: String { process.errors }
    public var isRunning: Bool { process.isRunning }
    /// The complete lines of standard output so far.
    public var lines: [String] { process.lines }

    /// Waits for a matching line of standard output; throws with all output if none comes.
    @discardableResult
    public func line(
        _ what: String, within limit: Duration = .seconds(90), where fits: (String) -> Bool = { _ in true }
    ) async throws -> String {
        guard let line = await process.line(within: limit, where: fits) else {
            throw WaitedInVain("\(isRunning ? "did not say" : "ended without saying") \(what)\(heard)")
        }
        return line
    }

    /// Waits until it has ended and its output is complete; throws if it still runs after `limit`.
    @discardableResult
    public func ending(within limit: Duration = .seconds(90)) async throws -> ChildProcess.Ending {
        guard let ending = await process.ending(within: limit) else {
            throw WaitedInVain("still running after \(limit)\(heard)")
        }
        return ending
    }

    public func send(_ signal: Int32) { child.send(signal) }
    public func sendToGroup(_ signal: Int32) { child.sendToGroup(signal) }

    /// Sends SIGTERM and waits for the end.
    @discardableResult
    public func terminate(within limit: Duration = .seconds(90)) async throws -> ChildProcess.Ending {
        send(SIGTERM)
        return try await ending(within: limit)
    }

    private var heard: String { "\n--- output\n\(output)\n--- errors\n\(errors)" }
}
