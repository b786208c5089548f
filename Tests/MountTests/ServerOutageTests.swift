import Glibc
import Posix
import TestSupport
import Testing

@Suite("An unreachable messaging server", .serialized)
struct ServerOutageTests {
    @Test("status names the server and waiting texts")
    func outage() async throws {
        let folder = try TemporaryFolder()
        var relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        let server = try await relay.line("its address for messages") { $0.hasPrefix("smp://") }
        let data = { (name: String) in ["--data", folder.path("\(name) data")] }
        let pair = try await ChatFSProcess.start(
            ["pair", "--profile", "alice", "--server", server] + data("alice"))
        let link = try await pair.line("a link") { $0.hasPrefix("https://") }
        let accepted = try await ChatFSProcess.run(
            ["accept", link, "--profile", "bob", "--server", server] + data("bob"))
        #expect(accepted.succeeded, "\(accepted.errors)")
        #expect(try await pair.ending() == .code(0))
        let chats = try folder.makeFolder("Chats")
        func mount() async throws -> RunningProcess {
            let mount = try await ChatFSProcess.start(
                ["mount", chats, "--cache-dir", folder.path("cache")] + data("alice"))
            try await wait(until: "it is mounted") { access(chats + "/.chatfs/status.json", F_OK) == 0 }
            return mount
        }
        func send(_ text: String) async throws -> Shell.Outcome {
            try await ChatFSProcess.run(["send", "--text", text, "bob"] + data("alice"))
        }
        func status() async throws -> String { try await ChatFSProcess.run(["status", chats]).output }
        let mounted = try await mount()
        let first = try await send("first")
        #expect(first.succeeded && !first.errors.contains("waits"), "\(first.errors)")
        try await wait(until: "nothing waits") { try await !status().contains("messaging server 127.0.0.1:") }

        relay.send(SIGKILL)
        try await relay.ending()
        let second = try await send("second")
        #expect(second.succeeded && second.errors.contains("the text waits"), "\(second.errors)")
        try await wait(until: "status names the server") {
            try await status().contains("messaging server 127.0.0.1:")
        }
        let text = try await status()
        #expect(
            text.contains("unreachable since 20") && text.contains("1 message of bob waits"), "\(text)")
        #expect(try await mounted.terminate() == .code(0))
        let third = try await send("third")
        #expect(
            third.succeeded && third.errors.contains("is sent when the profile is next mounted"),
            "\(third.errors)")

        relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        _ = try await relay.line("its address for messages") { $0.hasPrefix("smp://") }
        let again = try await mount()
        try await wait(until: "nothing waits", within: .seconds(120)) {
            try await !status().contains("messaging server 127.0.0.1:")
        }
        // An unused invitation.
        let invited = try await ChatFSProcess.start(["pair", "--profile", "alice"] + data("alice"))
        _ = try await invited.line("a link") { $0.hasPrefix("https://") }
        try await wait(until: "it is in the status") {
            try await status().contains("1 unused invitation")
        }
        invited.send(SIGKILL)
        #expect(try await again.terminate() == .code(0))
        #expect(try await relay.terminate() == .code(0))
    }
}
