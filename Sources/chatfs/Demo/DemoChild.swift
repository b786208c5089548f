import Base
import Glibc
import Posix

/// One `chatfs` started by the demo. In a process group of its own, so that Ctrl-C reaches only the
/// demo, which then stops its children in the right order; told by the kernel to leave when the demo
/// dies in another way.
struct DemoChild: Sendable {
    /// What it is called in messages: "The relay", "The mount of alice".
    let name: String
    let process: ObservedProcess

    /// Starts this same program with other arguments.
    static func start(_ name: String, _ arguments: [String]) async throws -> DemoChild {
        var settings = ChildProcess.Settings("/proc/self/exe", arguments)
        settings.parentDeathSignal = SIGTERM
        return DemoChild(name: name, process: try await ObservedProcess.start(settings))
    }

    /// Runs a short command to its end; its complaint becomes the error.
    static func run(_ name: String, _ arguments: [String]) async throws {
        let child = try await start(name, arguments)
        guard await child.process.ending(within: .seconds(60)) == .code(0) else { throw child.failure() }
    }

    var isRunning: Bool { process.isRunning }

    /// Its first line that fits; throws when it ends or stays silent for 30 seconds.
    func line(where fits: (String) -> Bool) async throws -> String {
        guard let line = await process.line(within: .seconds(30), where: fits) else { throw failure() }
        return line
    }

    /// What to say when it did not do what it should.
    func failure() -> DemoError {
        let words = process.errors.split(separator: "\n").suffix(3).joined(separator: " ")
        return DemoError(.child, "\(name) did not work: \(words.isEmpty ? "it said nothing." : words)")
    }
}
