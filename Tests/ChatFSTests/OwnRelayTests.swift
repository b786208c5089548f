import TestSupport
import Testing

@testable import Desktop
@testable import chatfs

@Suite("Own relays")
struct OwnRelayTests {
    private static func start(_ folder: TemporaryFolder, _ more: [String] = []) async throws -> RunningProcess
    {
        let relay = try await ChatFSProcess.start(
            ["relay", "--no-encryption", "--dir", folder.path("relay")] + more)
        try await relay.line("its address for files") { $0.hasPrefix("xftp://") }
        try await relay.line("its address for messages") { $0.hasPrefix("smp://") }
        return relay
    }

    private static func ask(_ folder: TemporaryFolder, _ words: [String]) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(["relay"] + words + ["--dir", folder.path("relay")])
    }

    @Test("status and purge work running and stopped")
    func statAndPurge() async throws {
        let folder = try TemporaryFolder()
        let none = try await Self.ask(folder, ["stat"])
        #expect(none.ending == .code(1) && none.errors.contains("There is no relay in"))
        #expect(try folder.names().isEmpty)
        let relay = try await Self.start(folder)
        let address = try #require(relay.lines.first { $0.hasPrefix("smp://") })
        // Creates a queue and leaves it.
        let invited = try await ChatFSProcess.start(
            [
                "pair", "--profile", "alice", "--server", address, "--data", folder.path("data"),
                "--no-encryption",
            ])
        try await invited.line("the link") { $0.hasPrefix("https://") }
        try await invited.terminate()
        let there = try await Self.ask(folder, ["stat"])
        #expect(there.output.hasPrefix("messages: 1 queues ("), "\(there.output)\(there.errors)")
        #expect(there.output.contains("connections") && there.output.contains("\nfiles: 0 chunks ("))
        let kept = try await Self.ask(folder, ["purge"])
        #expect(kept.output.hasPrefix("messages: 1 queues (") && kept.output.contains("0 queues deleted"))
        let asked = try await Self.ask(folder, ["purge", "--everything"])
        #expect(asked.ending == .code(64) && asked.errors.contains("--yes"))
        let gone = try await Self.ask(folder, ["purge", "--everything", "--yes"])
        #expect(gone.output.contains("1 queues deleted") && gone.output.hasPrefix("messages: 0 queues ("))
        try await relay.terminate()
        let resting = try await Self.ask(folder, ["stat"])
        #expect(resting.succeeded && resting.output.hasPrefix("messages: 0 queues ("), "\(resting.errors)")
        #expect(!resting.output.contains("connections"))
        #expect(try await Self.ask(folder, ["purge", "--idle", "1d", "--chunks", "1h"]).succeeded)
        try await Self.start(folder).terminate()
    }

    @Test("local addresses print a warning first")
    func loopback() async throws {
        let folder = try TemporaryFolder()
        let own = try await Self.start(folder)
        try await own.terminate()
        #expect(
            own.errors.contains("phones and other computers cannot reach it")
                && own.errors.contains("--listen 0.0.0.0:PORT"))
        let open = try await Self.start(folder, ["--listen", "0.0.0.0:0", "--host", "relay.example"])
        try await open.terminate()
        #expect(open.errors.isEmpty, "\(open.errors)")
        #expect(open.lines.allSatisfy { $0.contains("@relay.example:") })
    }

    @Test("a local link prints a warning first")
    func link() async throws {
        let folder = try TemporaryFolder()
        let relay = try await Self.start(folder)
        let address = try #require(relay.lines.first { $0.hasPrefix("smp://") })
        let data = ["--data", folder.path("data"), "--no-encryption"]
        let pair = try await ChatFSProcess.start(["pair", "--profile", "alice", "--server", address] + data)
        try await pair.line("the link") { $0.hasPrefix("https://") }
        try await pair.terminate()
        #expect(pair.errors.contains("only this machine can reach the server in this link (127.0.0.1)"))
        let created = try await ChatFSProcess.run(["address", "create"] + data)
        #expect(created.succeeded && created.errors.contains("--host NAME"), "\(created.errors)")
        try await relay.terminate()
    }

    @Test("the password comes from a descriptor")
    func password() async throws {
        let folder = try TemporaryFolder()
        let argument = try await Self.ask(folder, ["run", "--password", "word"])
        #expect(argument.ending == .code(64))
        let bad = try await Shell.run(
            "sh",
            [
                "-c", "printf 'two words' | \"$0\" relay --password-fd 0 --dir \"$1\"", ChatFSProcess.path,
                folder.path("relay"),
            ])
        #expect(bad.ending == .code(64) && bad.errors.contains("without spaces"), "\(bad.errors)")
        #expect(!bad.errors.contains("two words"))
        let both = try await Self.ask(folder, ["run", "--password-fd", "0", "--password-file", "x"])
        #expect(both.ending == .code(64))
        #expect(try folder.names().isEmpty)
    }

    @Test("invalid requests get no reply")
    func requests() {
        var request = RelayRequest()
        #expect(!request.isPurge && request.isSensible)
        request.unused = -1
        #expect(request.isPurge && !request.isSensible)
        request.unused = .max
        #expect(!request.isSensible)
        request.unused = RelayRequest.longest
        #expect(request.isSensible)
    }

    @Test(
        "local hosts are recognised",
        arguments: [
            ("127.0.0.1", true), ("127.9.0.1", true), ("::1", true), ("LOCALHOST", true), ("0.0.0.0", false),
            ("192.168.1.2", false), ("relay.example", false),
        ])
    func hosts(_ host: String, _ isOwn: Bool) {
        #expect(RelayReach.isOwnMachine(host) == isOwn)
        #expect((RelayReach.warning(listen: host, name: nil) != nil) == isOwn)
        #expect(RelayReach.warning(listen: host, name: "relay.example") == nil)
    }
}
