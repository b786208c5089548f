import Glibc
import Posix
import TestSupport
import Testing

@Suite("Keep rules", .serialized)
struct KeepTests {
    private func keep(_ mounts: TwoMounts, _ arguments: [String]) async throws -> String {
        try await mounts.run(["keep"] + arguments + ["--profile", "bob"]).output
    }

    /// Returns true if no byte of the file is local.
    private func isRemote(_ mounts: TwoMounts, _ name: String) throws -> Bool {
        try mounts.state("bob/alice/" + name) == "remote"
    }

    private func expires(_ mounts: TwoMounts, _ name: String) throws -> String? {
        try ExtendedAttribute.text("user.chatfs.expires", of: mounts.path("bob/alice/" + name))
    }

    private func status(_ mounts: TwoMounts) async throws -> String {
        try await ChatFSProcess.run(["status", mounts.path("bob")]).output
    }

    /// Makes the file as old as if it had been sent earlier.
    private func age(_ mounts: TwoMounts, _ name: String, by hours: Int) async throws {
        try await mounts.change(
            "UPDATE file SET expires = expires - ? * 3600000000000 WHERE name = ? AND recipient IS NOT NULL",
            ["\(hours)", name])
    }

    @Test("a rule receives files that outlive the relay")
    func kept() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        let bytes = TwoMounts.bytes(5_000_000)
        try await mounts.send(bytes, as: "film.bin")
        let sent = try #require(try expires(mounts, "film.bin").flatMap { Int($0) })
        #expect(abs(sent - time(nil) - 48 * 3600) < 120)
        #expect(try isRemote(mounts, "film.bin"))
        // The mount follows the rule, and receives earlier files too.
        let shown = try await keep(mounts, ["set", "--what", "all"])
        #expect(
            shown
                == "all chats: --what all --max-size 1gb --min-free 1gb --metered no --when arrival --auto-receive yes\n"
        )
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        try await mounts.send(TwoMounts.bytes(700_000, seed: 2), as: "next.bin")
        try await mounts.waitForState("stored", of: "bob/alice/next.bin")
        // The core reports the file shortly after it is local.
        try await wait(until: "it does not expire any more") { try expires(mounts, "next.bin") == nil }
        #expect(
            try ExtendedAttribute.text("user.chatfs.expires", of: mounts.path("alice/bob/next.bin")) != nil)

        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        #expect(try mounts.read("bob/alice/next.bin") == TwoMounts.bytes(700_000, seed: 2))
    }

    @Test("kinds, sizes and free space limit each chat")
    func rules() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        try await mounts.run(["profile", "create", "carol", "--relay", mounts.relayAddress])
        try await mounts.run(["connect", "carol", "bob"])
        #expect(
            try await keep(mounts, ["set", "--what", "media", "--min-free", "1mb"]).contains("--what media"))
        let own = try await keep(mounts, ["set", "--chat", "carol", "--what", "all", "--max-size", "400kb"])
        #expect(own.hasPrefix("carol (@") && own.contains("--max-size 400kb --min-free 1mb"))
        let all = try await keep(mounts, ["show"]).split(separator: "\n")
        #expect(all.count == 2 && all[0].hasPrefix("all chats: --what media") && all[1].hasPrefix("carol (@"))
        try await mounts.mount("bob")
        try await mounts.send(TwoMounts.bytes(600_000), as: "plain.bin")
        for (name, size) in [("small.bin", 300_000), ("large.bin", 500_000)] {
            let source = try mounts.folder.write(TwoMounts.bytes(size), to: name)
            try await mounts.run(["send", source, "bob", "--profile", "carol"])
        }
        try await mounts.waitForState("stored", of: "bob/carol/small.bin")
        // Changing one rule takes effect at once.
        _ = try await keep(mounts, ["set", "--chat", "alice", "--what", "all", "--min-free", "100000gb"])
        try await wait(until: "it waits for room") {
            try await status(mounts).contains("waiting to be kept: 1 file (space on the disk)")
        }
        #expect(try isRemote(mounts, "plain.bin"))
        #expect(try mounts.state("bob/carol/large.bin") == "remote")
        _ = try await keep(mounts, ["set", "--chat", "alice", "--min-free", "0"])
        try await mounts.waitForState("stored", of: "bob/alice/plain.bin")
        _ = try await keep(mounts, ["set", "--chat", "carol", "--reset"])
        #expect(try await keep(mounts, ["show", "--chat", "carol"]).contains("--what media"))
        #expect(try await keep(mounts, ["show"]).split(separator: "\n").count == 2)
        #expect(try mounts.state("bob/carol/large.bin") == "remote")
    }

    @Test("expiring files are reported once across mounts")
    func notice() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        for (number, name) in ["soon.bin", "later.bin"].enumerated() {
            try await mounts.send(TwoMounts.bytes(400_000, seed: number), as: name)
        }
        #expect(try await mounts.leave("bob") == .code(0))
        try await age(mounts, "soon.bin", by: 37)
        try await age(mounts, "later.bin", by: 35)
        let bob = try await mounts.mount("bob")
        try await wait(until: "it says that something goes") { bob.errors.contains("expire soon: count=1") }
        #expect(try await status(mounts).contains("1 file will expire on the relays within 12 hours"))
        let events = try await ChatFSProcess.start(["events", mounts.path("bob"), "--json", "--verbose"])
        try await wait(until: "it listens") { events.errors.contains("listening") }
        // While mounted, another file comes close to its expiry, which the mount sees with the next change.
        try await age(mounts, "later.bin", by: 2)
        _ = try await keep(mounts, ["set", "--what", "never"])
        try await events.line("that it is expiring") { line in
            line.contains("\"event\":\"expiring\"") && line.contains("\"path\":\"alice/later.bin\"")
        }
        #expect(!events.output.contains("alice/soon.bin"), "it was told before")
        #expect(try await mounts.leave("bob") == .code(0))
        #expect(try await events.ending() == .code(0))
        let again = try await mounts.mount("bob")
        try await wait(until: "it has looked") { try await status(mounts).contains("2 files will expire") }
        #expect(!again.errors.contains("expire soon"), "\(again.errors)")
        // Both expire while unmounted and are not reported again.
        #expect(try isRemote(mounts, "soon.bin") && isRemote(mounts, "later.bin"))
    }

    @Test("the notification's button keeps an expiring file")
    func button() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await TwoMounts.start(encrypted: false)
        try await mounts.send(TwoMounts.bytes(400_000), as: "soon.bin")
        #expect(try await mounts.leave("bob") == .code(0))
        try await age(mounts, "soon.bin", by: 37)
        try await mounts.mount("bob", environment: desktop.environment)
        let shown = try await desktop.waitForOne("what goes") { $0.button == "Keep" }
        #expect(shown.body.contains("soon.bin"))
        try desktop.press(shown)
        try await wait(until: "it is kept") { try !isRemote(mounts, "soon.bin") }
        #expect(desktop.shown.count { $0.button == "Keep" } == 1)
    }

    @Test("the next mount reports files lost meanwhile")
    func lost() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        _ = try await keep(mounts, ["set", "--what", "all", "--when", "expiring"])
        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        #expect(try await mounts.leave("bob") == .code(0))
        try await age(mounts, "film.bin", by: 48 + 4)
        try await mounts.change("UPDATE look SET time = time - 86400000000000", in: "profiles/2/keep.sqlite")
        let bob = try await mounts.mount("bob")
        try await wait(until: "it says that something has gone") {
            bob.errors.contains("expire soon: count=1")
        }
        #expect(try isRemote(mounts, "film.bin"))
    }

    @Test("files of an unapproved relay wait for approval")
    func approval() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        try await mounts.run(["relay", "remove", mounts.relayAddress, "--profile", "bob"])
        _ = try await keep(mounts, ["set", "--what", "all"])
        try await mounts.mount("bob")
        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        try await wait(until: "it waits for approval") {
            try await status(mounts).contains("(approval of their relays")
        }
        #expect(try isRemote(mounts, "film.bin"))
        try await mounts.run(["approve", mounts.relayAddress, "--profile", "bob"])
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
    }

    @Test("unreachable relays are retried, also after a kill")
    func away() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        let bytes = TwoMounts.bytes(3_000_000)
        try await mounts.send(bytes, as: "film.bin")
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        _ = try await keep(mounts, ["set", "--what", "all"])
        try await wait(until: "it waits for another try", within: .seconds(60)) {
            try await status(mounts).contains("(another try")
        }
        let daemon = try mounts.daemon("bob")
        daemon.send(SIGKILL)
        try await daemon.ending()
        try await mounts.startRelay()
        try await mounts.mount("bob")
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
    }

    @Test("cancelled downloads stay cancelled, readers keep theirs")
    func cancelled() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        try await mounts.send(TwoMounts.bytes(30_000_000), as: "film.bin")
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        _ = try await keep(mounts, ["set", "--what", "all"])
        try await mounts.waitForState("receiving", of: "bob/alice/film.bin")
        let cancelled = try await ChatFSProcess.run(["cancel", mounts.path("bob/alice/film.bin")])
        #expect(cancelled.succeeded, "\(cancelled.errors)")
        mounts.relay.send(SIGCONT)
        try await mounts.send(TwoMounts.bytes(400_000), as: "next.bin")
        try await mounts.waitForState("stored", of: "bob/alice/next.bin")
        #expect(try isRemote(mounts, "film.bin"))
        // A read still receives it.
        #expect(try mounts.read("bob/alice/film.bin") == TwoMounts.bytes(30_000_000))
    }

    @Test(
        "invalid rules are refused first",
        arguments: [
            ["set"], ["set", "--reset", "--what", "all"], ["set", "--what", "some"],
            ["set", "--max-size", "17eb"],
            ["set", "--min-free", "16777216000gb"], ["set", "--metered", "maybe"],
        ])
    func refused(arguments: [String]) async throws {
        let mounts = try await TwoMounts.start(mounting: [], encrypted: false)
        let outcome = try await ChatFSProcess.run(
            ["keep"] + arguments + ["--profile", "bob", "--data", mounts.data])
        #expect(outcome.ending == .code(64), "\(outcome.errors)")
        let unknown = try await ChatFSProcess.run(
            ["keep", "show", "--chat", "nobody", "--profile", "bob", "--data", mounts.data])
        #expect(unknown.ending == .code(1), "\(unknown.errors)")
        #expect(try await keep(mounts, ["show"]).contains("--what never"))
    }
}
