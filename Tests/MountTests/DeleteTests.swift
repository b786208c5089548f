import Glibc
import Posix
import TestSupport
import Testing

@Suite("The command chatfs delete", .serialized)
struct DeleteTests {
    private static let bytes = TwoMounts.bytes(600_000)

    private func delete(_ mounts: TwoMounts, _ words: [String]) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(["delete"] + words + ["--profile", "alice", "--data", mounts.data])
    }

    /// Number of CryptoFiles in alice's core.
    private func copies(_ mounts: TwoMounts) throws -> Int {
        try mounts.folder.names(in: "data/profiles/1/files").count
    }

    private func storage(_ mounts: TwoMounts) async throws -> String {
        try await mounts.run(["storage", "show", "--profile", "alice"]).output
    }

    @Test("deletion by default affects this user only")
    func sentCopy() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(Self.bytes, as: "report.bin")
        #expect(try copies(mounts) == 1)
        #expect(try await storage(mounts).contains("bob: 1 file (600 kB) stored here"))
        let path = mounts.path("alice/bob/report.bin")
        let unasked = try await delete(mounts, [path])
        #expect(unasked.ending == .code(64) && unasked.errors.contains("--yes"), "\(unasked.errors)")
        #expect(access(path, F_OK) == 0)
        let deleted = try await delete(mounts, [path, "--yes"])
        #expect(deleted.succeeded, "\(deleted.errors)")
        #expect(deleted.errors.contains("1 file deleted, 600 kB freed"), "\(deleted.errors)")
        #expect(errorCode { access(path, F_OK) } == ENOENT)
        #expect(try copies(mounts) == 0)
        #expect(try await storage(mounts).contains("bob: 0 files (0 B) stored here"))
        #expect(try mounts.read("bob/alice/report.bin") == Self.bytes)
    }

    @Test("deletion for everyone affects own files only")
    func everyone() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(Self.bytes, as: "report.bin")
        let received = try await ChatFSProcess.run([
            "delete", mounts.path("bob/alice/report.bin"), "--for-everyone", "--yes",
        ])
        #expect(
            received.ending == .code(1) && received.errors.contains("Only your own"), "\(received.errors)")
        let deleted = try await delete(
            mounts, ["--chat", "bob", "report.bin", "--for-everyone", "--yes"])
        #expect(deleted.succeeded, "\(deleted.errors)")
        #expect(access(mounts.path("alice/bob/report.bin"), F_OK) != 0)
        try await wait(until: "bob has it no more") {
            access(mounts.path("bob/alice/report.bin"), F_OK) != 0
        }
        #expect(try copies(mounts) == 0)
    }

    @Test("deletion also frees or cancels uploads")
    func cancelled() async throws {
        let mounts = try await TwoMounts.start()
        mounts.relay.send(SIGSTOP)
        for name in ["cancelled.bin", "sending.bin"] {
            try mounts.write(Self.bytes, to: "alice/bob/" + name)
            try await mounts.waitForState("sending", of: "alice/bob/" + name)
        }
        let cancelled = mounts.path("alice/bob/cancelled.bin")
        let outcome = try await ChatFSProcess.run(["cancel", cancelled])
        #expect(outcome.succeeded, "\(outcome.errors)")
        try await mounts.waitForState("cancelled", of: "alice/bob/cancelled.bin")
        #expect(try copies(mounts) == 2)
        let deleted = try await delete(mounts, [cancelled, mounts.path("alice/bob/sending.bin"), "--yes"])
        #expect(deleted.succeeded, "\(deleted.errors)")
        #expect(deleted.errors.contains("2 files deleted, 1.2 MB freed"), "\(deleted.errors)")
        #expect(try copies(mounts) == 0)
        #expect(try mounts.folder.names(in: "alice/bob").isEmpty)
        mounts.relay.send(SIGCONT)
        // The recipient, who had no byte, learns of the cancellation.
        try await wait(until: "bob's entry says so") {
            try mounts.state("bob/alice/cancelled.bin") == "cancelled"
        }
    }

    @Test("an unknown or ambiguous name deletes nothing")
    func names() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        for _ in 0..<2 {
            let file = try mounts.folder.write(Array("text".utf8), to: "twice.txt")
            try await mounts.run(["send", file, "bob", "--profile", "alice", "--anew"])
        }
        try await mounts.waitForFiles(["twice.txt", "twice (2).txt"], in: "alice/bob")
        let unknown = try await delete(mounts, ["--chat", "bob", "none.txt", "--yes"])
        #expect(
            unknown.ending == .code(1) && unknown.errors.contains("no file none.txt"), "\(unknown.errors)")
        let stranger = try await delete(mounts, ["--chat", "carol", "twice.txt", "--yes"])
        #expect(
            stranger.ending == .code(1) && stranger.errors.contains("no chat carol"), "\(stranger.errors)")
        let both = try await delete(mounts, ["--chat", "bob", "twice.txt", "none.txt", "--yes"])
        #expect(
            both.ending == .code(1) && both.errors.contains("2 files of bob are called"), "\(both.errors)")
        let folder = try await delete(mounts, [mounts.path("alice/bob"), "--yes"])
        #expect(folder.ending == .code(64) && folder.errors.contains("--all-files"), "\(folder.errors)")
        let elsewhere = try await delete(mounts, [mounts.folder.path("twice.txt"), "--yes"])
        #expect(elsewhere.ending == .code(1) && elsewhere.errors.contains("not on a mount"))
        #expect(try mounts.folder.names(in: "alice/bob").count == 2)
        let number = try #require(
            try ExtendedAttribute.text("user.chatfs.item-id", of: mounts.path("alice/bob/twice (2).txt")))
        let one = try await delete(mounts, ["--chat", "bob", number, "--yes"])
        #expect(one.succeeded, "\(one.errors)")
        #expect(try mounts.folder.names(in: "alice/bob") == ["twice.txt"])
    }

    @Test("unmounted deletion can spare received files")
    func allOfAChat() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(Self.bytes, as: "sent.bin")
        try mounts.write(TwoMounts.bytes(1000), to: "bob/alice/received.bin")
        try await mounts.waitForFile("alice/bob/received.bin")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        let everyone = try await delete(mounts, ["--chat", "bob", "--all-files", "--for-everyone", "--yes"])
        #expect(everyone.ending == .code(64), "\(everyone.errors)")
        #expect(try copies(mounts) == 2)
        let sent = try await delete(mounts, ["--chat", "bob", "--sent-files", "--yes"])
        #expect(sent.errors.contains("1 file deleted, 600 kB freed"), "\(sent.errors)")
        #expect(try copies(mounts) == 1)
        let all = try await delete(mounts, ["--chat", "bob", "--all-files", "--yes"])
        #expect(all.errors.contains("1 file deleted, 1.0 kB freed"), "\(all.errors)")
        #expect(try copies(mounts) == 0)
        try await mounts.mount("alice")
        #expect(try mounts.folder.names(in: "alice/bob").isEmpty)
    }

    @Test("answering no keeps the file")
    func question() async throws {
        // Without the test's credential, because the command has a terminal.
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        let file = try mounts.folder.write(Array("text".utf8), to: "a.txt")
        try await mounts.run(["send", file, "bob", "--profile", "alice"])
        let words = ["delete", "--chat", "bob", "a.txt", "--profile", "alice", "--data", mounts.data]
        let asked = "Delete a.txt of bob here (4 B)? [y/N] "
        let kept = try await ScriptedTerminal.run(ChatFSProcess.path, words, [.wait(asked), .type("n\n")])
        #expect(kept.ending == .code(1) && kept.shown.contains("Nothing was deleted"), "\(kept.shown)")
        #expect(try copies(mounts) == 1)
        let gone = try await ScriptedTerminal.run(ChatFSProcess.path, words, [.wait(asked), .type("y\n")])
        #expect(gone.ending == .code(0), "\(gone.shown)")
        #expect(try copies(mounts) == 0)
    }

    @Test("a name given away during the question is not deleted")
    func renamed() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
        for name in ["carol", "dora"] {
            try await mounts.run(["profile", "create", name, "--no-encryption"])
            try await mounts.run(["connect", "alice", name])
        }
        // Renames while the question waits.
        func delete(_ words: [String], _ asked: String, meanwhile renames: [[String]]) async throws -> String
        {
            let steps = renames.map { words in
                words.map { "'\($0)'" }.joined(separator: " ")
                    + " --data '\(mounts.data)' || exit; sleep 3; "
            }.joined(separator: "'\(ChatFSProcess.path)' ")
            let script = "(sleep 1; '\(ChatFSProcess.path)' \(steps) echo renamed) & \"$0\" \"$@\""
            let outcome = try await ScriptedTerminal.run(
                "sh", ["-c", script, ChatFSProcess.path] + words + ["--data", mounts.data],
                [.wait(asked), .wait("renamed"), .type("y\n")])
            #expect(outcome.ending == .code(0), "\(outcome.shown)")
            return outcome.shown
        }
        let alice = ["--profile", "alice"]
        _ = try await delete(
            ["contact", "delete", "bob"] + alice, "Delete bob with all files?",
            meanwhile: [
                ["contact", "rename", "bob", "robert"] + alice,
                ["contact", "rename", "carol", "bob"] + alice,
            ])
        let contacts = try await mounts.run(["contact", "list"] + alice).output
        #expect(contacts == "bob\ndora\n" || contacts == "dora\nbob\n", "\(contacts)")
        _ = try await delete(
            ["profile", "delete", "dora"], "Delete dora with all chats and files?",
            meanwhile: [["profile", "rename", "dora", "theo"], ["profile", "rename", "carol", "dora"]])
        #expect(try await mounts.run(["profile", "list"]).output == "alice\nbob\ndora\n")
    }

    @Test("delete everything waits for unmount, keeps foreign files")
    func everything() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let words = ["delete", "--everything", "--yes", "--data", mounts.data]
        let busy = try await ChatFSProcess.run(words)
        #expect(busy.ending == .code(1) && busy.errors.contains("is in use (process"), "\(busy.errors)")
        #expect(busy.errors.contains("mounted at \(mounts.path("alice"))"), "\(busy.errors)")
        #expect(try await mounts.leave("alice") == .code(0))
        // The remains of a killed export and a killed encryption.
        _ = try mounts.folder.makeFolder("data/export")
        for name in ["export/chatfs.db", "encrypting"] { try mounts.folder.write([1], to: "data/" + name) }
        try mounts.folder.write(Array("mine".utf8), to: "data/letter.txt")
        let unasked = try await ChatFSProcess.run(["delete", "--everything", "--data", mounts.data])
        #expect(unasked.ending == .code(64) && unasked.errors.contains("--yes"), "\(unasked.errors)")
        #expect(access(mounts.data + "/keys", F_OK) == 0)
        let first = try await ChatFSProcess.run(words)
        #expect(first.succeeded && first.errors.contains("letter.txt"), "\(first.errors)")
        #expect(
            try mounts.folder.names(in: "data").sorted() == [".chatfs-folder", "in-use", "letter.txt"])
        unlink(mounts.data + "/letter.txt")
        let second = try await ChatFSProcess.run(words)
        #expect(second.succeeded, "\(second.errors)")
        #expect(access(mounts.data, F_OK) != 0)
        let third = try await ChatFSProcess.run(words)
        #expect(third.ending == .code(1) && third.errors.contains("There is no data directory"))
    }

    @Test("deleting a copy keeps the original's key in the keyring")
    func keyringOfCopy() async throws {
        var stage = try KeyStage(data: "chatfs")
        // The original is the default data directory.
        stage.environment["XDG_DATA_HOME"] = stage.folder.path
        try await stage.installKeyring()
        #expect(try await stage.chatfs("profile create alice").succeeded)
        let copied = try await Shell.run("cp", ["-a", stage.data, stage.folder.path("copy")])
        try #require(copied.succeeded, "\(copied.errors)")
        let copy = try KeyStage(sharing: stage, data: "copy")
        let deleted = try await copy.chatfs("delete --everything --yes")
        #expect(deleted.succeeded && deleted.errors.contains("in the keyring stays"), "\(deleted.errors)")
        #expect(access(copy.data, F_OK) != 0)
        #expect(try stage.kept().count == 1)
        let opened = try await stage.chatfs("key test")
        #expect(opened.succeeded, "\(opened.errors)")
        #expect(try await stage.chatfs("delete --everything --yes").succeeded)
        #expect(try stage.kept().isEmpty)
    }

    /// The data was moved to another disk by a copy, and the configuration names that.
    @Test("a copy that the configuration names keeps its key")
    func keyringOfConfiguredCopy() async throws {
        var stage = try KeyStage(data: "old")
        let configuration = try stage.folder.makeFolder("chatfs")
        stage.environment["XDG_CONFIG_HOME"] = stage.folder.path
        try await stage.installKeyring()
        #expect(try await stage.chatfs("profile create alice").succeeded)
        let copied = try await Shell.run("cp", ["-a", stage.data, stage.folder.path("new")])
        try #require(copied.succeeded, "\(copied.errors)")
        let copy = try KeyStage(sharing: stage, data: "new")
        let text = "[mounts.home]\nmountpoint = \"/m\"\ndata = \"\(copy.data)\"\n"
        try stage.folder.write(Array(text.utf8), to: "chatfs/config.toml")
        let deleted = try await stage.chatfs("delete --everything --yes")
        #expect(
            deleted.succeeded && deleted.errors.contains("\(copy.data) needs it too"), "\(deleted.errors)")
        let opened = try await copy.chatfs("key test")
        #expect(opened.succeeded, "\(opened.errors)")
        unlink(configuration + "/config.toml")
        #expect(try await copy.chatfs("delete --everything --yes").succeeded)
        #expect(try stage.kept().isEmpty)
    }

    @Test("delete everything also clears the keyring")
    func keyringEntry() async throws {
        var stage = try KeyStage()
        try await stage.installKeyring()
        #expect(try await stage.chatfs("profile create alice").succeeded)
        #expect(try stage.kept().count == 1)
        let deleted = try await stage.chatfs("delete --everything --yes")
        #expect(deleted.succeeded, "\(deleted.errors)")
        #expect(try stage.kept().isEmpty)
        #expect(access(stage.data, F_OK) != 0)
        // A locked keyring does not prevent the deletion of its data.
        #expect(try await stage.chatfs("profile create alice").succeeded)
        try stage.setKeyring("locked")
        let locked = try await stage.chatfs("delete --everything --yes")
        #expect(locked.ending == .code(1) && locked.errors.contains("except the key in the keyring"))
        #expect(access(stage.data, F_OK) != 0)
    }
}
