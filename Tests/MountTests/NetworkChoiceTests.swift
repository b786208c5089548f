import Glibc
import Posix
import TestSupport
import Testing

/// A relay, and a person who may use it.
private struct OnePerson {
    let folder: TemporaryFolder
    let relay: RunningRelay

    var files: String { relay.files }
    var messages: String { relay.messages }

    init() async throws {
        folder = try TemporaryFolder()
        relay = try await RunningRelay.start(in: folder)
        let made = try await run(["profile", "create", "alice", "--relay", relay.files])
        #expect(made.succeeded, "\(made.errors)")
    }

    func run(_ arguments: [String]) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(arguments + ["--data", folder.path("data")])
    }
}

@Suite("Network settings of a profile", .serialized)
struct NetworkChoiceTests {
    @Test("settings persist one by one")
    func network() async throws {
        let person = try await OnePerson()
        let first = try await person.run(["network", "show"]).output
        #expect(
            first
                == "socks-proxy off\nprivate-routing never\nrouting-fallback protected\nreceipts on\n")
        let changed = try await person.run(
            ["network", "set", "--socks-proxy", "127.0.0.1:9050", "--receipts", "off"])
        #expect(changed.output.hasPrefix("socks-proxy 127.0.0.1:9050\nprivate-routing never\n"))
        _ = try await person.run(["network", "set", "--private-routing", "always"])
        _ = try await person.run(["network", "set", "--socks-proxy", "off"])
        #expect(
            try await person.run(["network", "show", "--json"]).output == """
                {"socks-proxy":"off","private-routing":"always","routing-fallback":"protected","receipts":"off"}

                """)
        #expect(try await person.relay.terminate() == .code(0))
    }

    @Test("all traffic goes through the SOCKS proxy")
    func proxy() async throws {
        let person = try await OnePerson()
        let proxy = try SOCKSServer()
        let chosen = try await person.run(["network", "set", "--socks-proxy", "127.0.0.1:\(proxy.port)"])
        #expect(chosen.succeeded, "\(chosen.errors)")
        let pair = try await ChatFSProcess.start(
            ["pair", "--data", person.folder.path("data"), "--server", person.messages])
        let link = try await pair.line("a link") { $0.hasPrefix("https://") }
        let bob = ["--data", person.folder.path("bob data")]
        let accepted = try await ChatFSProcess.run(
            ["accept", link, "--profile", "bob", "--server", person.messages, "--relay", person.files] + bob)
        #expect(accepted.output == "alice is connected.\n", "\(accepted.errors)")
        #expect(try await pair.ending() == .code(0))
        let paired = proxy.targets.count
        let others = Set(proxy.logins.map(\.password))
        #expect(paired >= 1 && others.count == 1)

        let tested = try await person.run(["relay", "test", person.files])
        #expect(tested.succeeded, "\(tested.output)")
        let tried = proxy.targets.count
        #expect(tried > paired)

        // A file for bob and its description use the proxy too.
        let file = person.folder.path("file")
        _ = try await Shell.run("truncate", ["--size", "600000", file])
        let sent = try await person.run(["send", file, "bob"])
        #expect(sent.succeeded, "\(sent.errors)")
        #expect(proxy.targets.count > tried + 1)
        // The same credentials for both, different from those of earlier commands.
        let own = Set(proxy.logins.dropFirst(tried).map(\.password))
        #expect(own.count == 1 && own.isDisjoint(with: others))

        // Without the proxy nothing is reachable, although the relay runs.
        proxy.stop()
        let doomed = try await ChatFSProcess.start(["pair", "--data", person.folder.path("data")])
        #expect(try await doomed.ending() != .code(0))
        #expect(!doomed.output.contains("https://"))
        #expect(try await person.run(["relay", "test"]).ending == .code(1))
        #expect(try await person.relay.terminate() == .code(0))
    }

    @Test("each profile and run has its own circuit")
    func isolation() async throws {
        let person = try await OnePerson()
        let proxy = try SOCKSServer()
        let made = try await person.run(["profile", "create", "carol", "--relay", person.files])
        #expect(made.succeeded, "\(made.errors)")
        let file = person.folder.path("file")
        _ = try await Shell.run("truncate", ["--size", "600000", file])
        var known: Set<String> = []
        for profile in ["alice", "carol"] {
            let chosen = try await person.run(
                ["network", "set", "--socks-proxy", "127.0.0.1:\(proxy.port)", "--profile", profile])
            #expect(chosen.succeeded, "\(chosen.errors)")
        }
        for (profile, words) in [
            ("alice", ["file", "send", file]), ("carol", ["file", "send", file]),
            ("alice", ["relay", "test", person.files]), ("carol", ["relay", "test", person.files]),
            ("carol", ["file", "send", file]),
        ] {
            let (before, targets) = (proxy.logins.count, proxy.targets.count)
            let outcome = try await person.run(words + ["--profile", profile])
            #expect(outcome.succeeded, "\(words): \(outcome.output)\(outcome.errors)")
            let logins = proxy.logins.dropFirst(before)
            let passwords = Set(logins.map(\.password))
            #expect(passwords.count == 1, "\(profile): \(words)")
            #expect(known.isDisjoint(with: passwords), "\(profile): \(words)")
            // Tor then uses another circuit for each destination.
            #expect(logins.map(\.user).sorted() == proxy.targets.dropFirst(targets).sorted())
            known.formUnion(passwords)
        }
        #expect(try await person.relay.terminate() == .code(0))
    }

    @Test(
        "invalid settings are refused first",
        arguments: [
            [], ["--socks-proxy", "nowhere"], ["--private-routing", "often"], ["--receipts", "maybe"],
        ])
    func refused(_ choice: [String]) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await ChatFSProcess.run(
            ["network", "set"] + choice, environment: ["HOME": folder.path])
        #expect(outcome.ending == .code(64), "\(outcome.errors)")
    }
}
