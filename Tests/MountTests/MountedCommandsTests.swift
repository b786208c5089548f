import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Commands about mounts", .serialized)
struct MountedCommandsTests {
    private struct Status: Decodable {
        var mountpoint: String
        var problem: String?
        var pid: Int32?
    }

    @Test("status --json prints an object or an array")
    func statusForPrograms() async throws {
        let mounts = try await TwoMounts.start()
        let named = try await ChatFSProcess.run(["status", "--json", mounts.path("alice")])
        let one = try JSONDecoder().decode(Status.self, from: Data(named.output.utf8))
        #expect(one.pid == (try mounts.daemon("alice").processIdentifier))
        try mounts.daemon("bob").send(SIGKILL)
        _ = try await mounts.daemon("bob").ending()
        let all = try await ChatFSProcess.run(["status", "--json"])
        #expect(all.ending == .code(1))
        let several = try JSONDecoder().decode([Status].self, from: Data(all.output.utf8))
            .filter { $0.mountpoint.hasPrefix(mounts.folder.path) }
        #expect(several.map(\.mountpoint) == [mounts.path("alice"), mounts.path("bob")])
        #expect(several.map(\.problem) == [nil, "dead"])
        let watch = try await ChatFSProcess.start(["status", "--watch", "--json"])
        try await watch.line("the living mount") { $0.contains("\"profile\":\"alice\"") }
        #expect(watch.errors.contains("the process of \(mounts.path("bob")) has died"), "\(watch.errors)")
        watch.send(SIGTERM)
        _ = try await watch.ending()
        // Every command that meets a dead mount names the remedy, not only status.
        for command in [["hydrate", mounts.path("bob/alice")], ["retry", mounts.path("bob/alice/x")]] {
            let outcome = try await ChatFSProcess.run(command)
            #expect(outcome.ending == .code(1))
            #expect(outcome.errors.contains("chatfs unmount"), "\(outcome.errors)")
        }
        #expect(try await ChatFSProcess.run(["unmount", mounts.path("bob")]).succeeded)
    }

    @Test("the current folder chooses a dead mount too")
    func currentFolderOnDeadMount() async throws {
        let mounts = try await TwoMounts.start()
        let dead = try mounts.daemon("bob").processIdentifier
        let outcome = try await Shell.script(
            """
            cd '\(mounts.path("bob"))'
            kill -KILL \(dead)
            while test -e /proc/\(dead)/exe; do sleep 0.1; done
            '\(ChatFSProcess.path)' unmount
            """)
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(try MountTable.mount(at: mounts.path("bob")) == nil)
        #expect(try await ChatFSProcess.run(["status", mounts.path("alice")]).succeeded)
    }

    @Test("a profile's name precedes the current mount")
    func profileInsideOtherMount() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", at: mounts.path("elsewhere"))
        let outcome = try await Shell.run(
            ChatFSProcess.path, ["status", "--json", "bob"], folder: mounts.path("alice"))
        let shown = try JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8))
        #expect(shown.mountpoint == mounts.path("elsewhere"))
    }

    @Test("hydrate continues after failures and counts them")
    func hydrateGoesOn() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(400_000), as: "a-lost.bin")
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        for name in try mounts.folder.names(in: "relay") where name.hasPrefix("records.db") {
            unlink(mounts.folder.path("relay/" + name))
        }
        try await mounts.startRelay()
        try await mounts.send(TwoMounts.bytes(400_000, seed: 2), as: "b-there.bin")
        let outcome = try await ChatFSProcess.run(["hydrate", mounts.path("bob/alice")])
        #expect(outcome.ending == .code(1))
        #expect(
            outcome.errors.contains("chatfs: \(mounts.path("bob/alice/a-lost.bin")): "), "\(outcome.errors)")
        #expect(outcome.errors.contains("chatfs: 1 of 2 could not be received."), "\(outcome.errors)")
        #expect(try mounts.state("bob/alice/b-there.bin") == "stored")
    }

    @Test("control characters in names are escaped")
    func hostileName() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let open = try mounts.create("alice/bob/red\u{1B}[31m\nalert.txt")
        let status = try await ChatFSProcess.run(["status", mounts.path("alice")])
        #expect(status.output.contains("red\\u{1b}[31m\\u{a}alert.txt"), "\(status.output)")
        #expect(status.output.contains(": 2 chats, 1 file, "), "\(status.output)")
        withExtendedLifetime(open) {}
    }

    @Test("a background mount logs to the profile's folder")
    func backgroundLog() async throws {
        guard access("/run/systemd/journal/socket", F_OK) != 0 else { return }
        let mounts = try await TwoMounts.start(mounting: [])
        let started = try await ChatFSProcess.run(
            mounts.arguments(toMount: "alice", ["--background", "--cache", "plain"]))
        try #require(started.succeeded, "\(started.errors)")
        let log = mounts.path("data/profiles/1/log")
        var status = stat()
        #expect(stat(log, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try await ChatFSProcess.run(["unmount", mounts.path("alice")]).succeeded)
    }

    @Test("a failed mount removes its new folder")
    func failedMount() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let place = mounts.path("elsewhere/new")
        mkdir(mounts.path("elsewhere"), 0o700)
        // Its index of names is invalid.
        try await mounts.mount("bob")
        #expect(try await mounts.leave("bob") == .code(0))
        try mounts.folder.write(
            Array("this is no database, and never was one".utf8), to: "data/profiles/2/names.sqlite")
        let outcome = try await ChatFSProcess.run(mounts.arguments(toMount: "bob", at: place))
        #expect(outcome.ending == .code(1))
        #expect(access(place, F_OK) != 0, "\(outcome.errors)")
        #expect(access(mounts.path("elsewhere"), F_OK) == 0)
    }
}
