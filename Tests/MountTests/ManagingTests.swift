import Glibc
import Posix
import TestSupport
import Testing

@Suite("Changes to mounted profiles", .serialized)
struct ManagingTests {
    @Test("folders follow renamed, left and deleted chats")
    func contacts() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(1000), as: "a.bin")
        let alice = ["--profile", "alice"]
        #expect(try await mounts.run(["contact", "list"] + alice).output == "bob\n")
        try await mounts.run(["contact", "rename", "bob", "Bob from work"] + alice)
        try await mounts.waitForFile("alice/Bob from work/a.bin")
        #expect(
            try mounts.folder.names(in: "alice").sorted() == [
                ".chatfs", "Bob from work", "Links", "Saved notes",
            ])
        #expect(access(mounts.path("bob/alice/a.bin"), F_OK) == 0)
        let profile = try await ChatFSProcess.run([
            "profile", "delete", "bob", "--yes", "--data", mounts.data,
        ])
        #expect(profile.ending == .code(1) && profile.errors.contains("in use by"), "\(profile.errors)")
        try await mounts.run(["contact", "leave", "Bob from work"] + alice)
        // A new name each time: a copy made before the leave has used its name.
        var tries = 0
        try await wait(until: "nothing can be written there") {
            tries += 1
            let copy = mounts.path("alice/Bob from work/x\(tries).bin")
            return try await Shell.run("cp", [ChatFSProcess.path, copy]).errors.contains("Permission denied")
        }
        // The next mount shows the new name.
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice")
        try await mounts.waitForFile("alice/Bob from work/a.bin")
        #expect(try await mounts.leave("alice") == .code(0))
        let unasked = try await ChatFSProcess.run(
            ["contact", "delete", "Bob from work", "--data", mounts.data] + alice)
        #expect(unasked.ending == .code(64) && unasked.errors.contains("--yes"), "\(unasked.errors)")
        try await mounts.run(["contact", "delete", "Bob from work", "--yes"] + alice)
        #expect(try await mounts.run(["contact", "list"] + alice).output.isEmpty)
        #expect(try mounts.read("bob/alice/a.bin") == TwoMounts.bytes(1000))
        try await mounts.run(["profile", "rename", "alice", "Alice B."])
        // Bob's folder for her keeps its name, which alone selects her.
        #expect(try await mounts.run(["contact", "list", "--profile", "bob"]).output == "alice\n")
        try await mounts.run(["profile", "delete", "Alice B.", "--yes"])
        #expect(try await mounts.run(["profile", "list"]).output == "bob\n")
    }

    @Test(
        "a deleted contact's open files stay readable")
    func deleting() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(1000), as: "a.bin")
        try await mounts.run(["group", "create", "Club", "alice", "bob"])
        try await mounts.waitForFile("alice/Club")
        let open = try OpenFile(mounts.path("alice/bob/a.bin"), flags: O_RDONLY)
        #expect(try open.read(count: 10, at: 0) == Array(TwoMounts.bytes(1000)[..<10]))
        try mounts.write([1, 2, 3], to: "alice/bob/local.part")
        let writer = try mounts.create("alice/bob/being written")
        try writer.write([1], at: 0)
        let alice = ["--profile", "alice"]
        let unknown = try await ChatFSProcess.run(
            ["contact", "delete", "nobody", "--yes", "--data", mounts.data] + alice)
        #expect(unknown.ending == .code(1) && unknown.errors.contains("no chat nobody"), "\(unknown.errors)")
        try await mounts.run(["contact", "delete", "bob", "--yes"] + alice)
        try await wait(until: "the folder is gone") { access(mounts.path("alice/bob"), F_OK) != 0 }
        #expect(try mounts.folder.names(in: "alice").sorted() == [".chatfs", "Club", "Links", "Saved notes"])
        #expect(try open.read(count: 990, at: 10) == Array(TwoMounts.bytes(1000)[10...]))
        // It is not sent, but its writer gets no error.
        try writer.write([2], at: 1)
        #expect(try mounts.read("bob/alice/a.bin") == TwoMounts.bytes(1000))
        try await mounts.run(["group", "delete", "Club", "--yes"] + alice)
        try await wait(until: "the group is gone") { access(mounts.path("alice/Club"), F_OK) != 0 }
        #expect(access(mounts.path("bob/Club"), F_OK) == 0)
        // Connected again: a new chat with its own empty folder.
        try await mounts.run(["connect", "alice", "bob"])
        try await wait(until: "there is a folder again") {
            try mounts.folder.names(in: "alice").contains { $0.hasPrefix("bob") }
        }
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice")
        let names = try mounts.folder.names(in: "alice").sorted()
        #expect(names.count == 4 && !names.contains("Club"), "\(names)")
    }

    @Test func cancelAnswersWaitingReader() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(3_000_000), as: "film.bin")
        let film = mounts.path("bob/alice/film.bin")
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        async let reading = Shell.run("cat", [film])
        try await mounts.waitForState("receiving", of: "bob/alice/film.bin")
        let cancelled = try await ChatFSProcess.run(["cancel", film])
        #expect(cancelled.succeeded, "\(cancelled.errors)")
        let read = try await reading
        #expect(!read.succeeded && read.errors.contains("Input/output error"), "\(read.errors)")
        try await mounts.waitForState("remote", of: "bob/alice/film.bin")
        mounts.relay.send(SIGCONT)
        #expect(try await ChatFSProcess.run(["hydrate", film]).succeeded)
    }

    @Test("a cancelled download can be resumed")
    func cancelling() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(3_000_000)
        try await mounts.send(bytes, as: "film.bin")
        mounts.relay.send(SIGSTOP)
        try await mounts.pin("bob/alice/film.bin")
        try await mounts.waitForState("receiving", of: "bob/alice/film.bin")
        let film = mounts.path("bob/alice/film.bin")
        let cancelled = try await ChatFSProcess.run(["cancel", film])
        #expect(cancelled.succeeded, "\(cancelled.errors)")
        try await mounts.waitForState("remote", of: "bob/alice/film.bin")
        mounts.relay.send(SIGCONT)
        let again = try await ChatFSProcess.run(["cancel", film])
        #expect(again.ending == .code(1) && again.errors.contains("not being received"), "\(again.errors)")
        #expect(try await ChatFSProcess.run(["hydrate", film]).succeeded)
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        let late = try await ChatFSProcess.run(["cancel", film])
        #expect(late.ending == .code(1) && late.errors.contains("already local"), "\(late.errors)")
        let folder = try await ChatFSProcess.run(["cancel", mounts.path("bob/alice")])
        #expect(folder.ending == .code(64))
        // Nor a folder named from elsewhere, or by a link.
        #expect(symlink(mounts.path("bob/alice"), mounts.path("link")) == 0)
        try mounts.write([1], to: "bob/alice/kept.part")
        try await mounts.waitForState("draft", of: "bob/alice/kept.part")
        for word in ["alice", mounts.path("link")] {
            let outside = try await ChatFSProcess.run(["cancel", word], folder: mounts.path("bob/alice"))
            #expect(outside.ending == .code(64), "\(outside.errors)")
            #expect(try mounts.state("bob/alice/kept.part") == "draft")
        }
        unlink(mounts.path("bob/alice/kept.part"))
        // A draft is withdrawn, as if removed.
        try mounts.write([1], to: "bob/alice/later.part")
        try await mounts.waitForState("draft", of: "bob/alice/later.part")
        let draft = try await ChatFSProcess.run(["cancel", mounts.path("bob/alice/later.part")])
        #expect(draft.succeeded, "\(draft.errors)")
        #expect(try mounts.folder.names(in: "bob/alice") == ["film.bin"])
        // The relay keeps nothing of a sent file.
        try await mounts.send(TwoMounts.bytes(400_000, seed: 3), as: "other.bin")
        let sent = try await ChatFSProcess.run(["cancel", mounts.path("alice/bob/other.bin")])
        #expect(sent.succeeded, "\(sent.errors)")
        try await mounts.waitForState("cancelled", of: "bob/alice/other.bin")
    }
}

extension TwoMounts {
    fileprivate func pin(_ name: String) async throws {
        let outcome = try await ChatFSProcess.run(["pin", path(name)])
        guard outcome.succeeded else { throw WaitedInVain("pin: \(outcome.errors)") }
    }
}
