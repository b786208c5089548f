import Glibc
import Posix
import TestSupport

/// Two machines with their own data directories and mountpoints, and a common relay.
struct TwoMachines {
    let folder: TemporaryFolder
    let relay: RunningRelay

    init() async throws {
        folder = try TemporaryFolder()
        relay = try await RunningRelay.start(in: folder)
        for name in ["alice", "bob"] { _ = try folder.makeFolder("\(name) Chats") }
    }

    func data(_ name: String) -> [String] { ["--data", folder.path("\(name) data")] }

    var servers: [String] { ["--server", relay.messages, "--relay", relay.files] }

    func chats(_ name: String) -> String { folder.path("\(name) Chats") }

    /// Starts pairing and waits for the link.
    func pair(_ name: String, _ more: [String] = []) async throws -> (process: RunningProcess, link: String) {
        let process = try await ChatFSProcess.start(["pair"] + data(name) + more)
        return (process, try await process.line("a link") { $0.hasPrefix("https://") })
    }

    func mount(
        _ name: String, environment: [String: String?] = [:]
    ) async throws -> RunningProcess {
        let process = try await ChatFSProcess.start(
            ["mount", chats(name), "--cache-dir", folder.path("\(name) cache")] + data(name),
            environment: environment)
        try await wait(until: "\(name)'s mount is there") {
            access(chats(name) + "/.chatfs/status.json", F_OK) == 0
        }
        return process
    }
}
