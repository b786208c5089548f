import Glibc
import Posix

/// Runs tools to their end, with a time limit.
public enum Shell {
    public struct Outcome: Sendable {
        public let ending: ChildProcess.Ending
        public let output: String
        public let errors: String

        public var succeeded: Bool { ending == .code(0) }
    }

    /// Runs `tool`, a path or a name in the search path. Throws if it exceeds the limit, not if it fails: see `ending`.
    public static func run(
        _ tool: String, _ arguments: [String] = [], folder: String? = nil,
        environment: [String: String?] = [:],
        limit: Duration = .seconds(180)
    ) async throws -> Outcome {
        var settings = ChildProcess.Settings(try find(tool), arguments)
        settings.folder = folder
        settings.environment = environment
        let process = try await RunningProcess.start(settings)
        let ending = try await process.ending(within: limit)
        return Outcome(ending: ending, output: process.output, errors: process.errors)
    }

    /// Runs a line of sh(1).
    public static func script(
        _ line: String, folder: String? = nil, environment: [String: String?] = [:],
        limit: Duration = .seconds(180)
    ) async throws -> Outcome {
        try await run("/bin/sh", ["-c", line], folder: folder, environment: environment, limit: limit)
    }

    /// Returns the path of a program in the search path.
    public static func find(_ tool: String) throws -> String {
        if tool.contains("/") { return tool }
        let search = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        for folder in search.split(separator: ":") where access("\(folder)/\(tool)", X_OK) == 0 {
            return "\(folder)/\(tool)"
        }
        throw WaitedInVain("\(tool) is not installed; contrib/test installs it")
    }

    /// For callers that cannot await: blocks the thread.
    static func runBlocking(_ path: String, _ arguments: [String], limit: Duration) throws {
        let quoted = ([path] + arguments).map { "'" + $0.replacing("'", with: "'\\''") + "'" }
        let line =
            "exec timeout \(limit.components.seconds) " + quoted.joined(separator: " ") + " 2>/dev/null"
        guard system(line) == 0 else { throw WaitedInVain("\(path) failed") }
    }
}
