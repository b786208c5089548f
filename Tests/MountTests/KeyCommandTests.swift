import Glibc
import Posix
import TestSupport
import Testing

@Suite struct KeyCommandTests {
    @Test func scriptsMustNameAnUnlockMethod() async throws {
        let stage = try KeyStage()
        let outcome = try await stage.chatfs("profile create alice")
        #expect(outcome.ending == .code(64))
        #expect(outcome.errors.contains("--passphrase-fd") && outcome.errors.contains("--no-encryption"))
        #expect(access(stage.data, F_OK) != 0)
    }

    @Test func onlyThePassphraseUnlocksItsData() async throws {
        let stage = try KeyStage()
        try await stage.make(passphrase: "correct horse\n")
        let listed = try await stage.chatfs("profile list --passphrase-fd 3", handing: ["correct horse"])
        #expect(listed.output == "alice\n")
        let wrong = try await stage.chatfs("profile list --passphrase-fd 3", handing: ["battery"])
        #expect(wrong.ending == .code(1) && wrong.errors.contains("not the right one"))
        let none = try await stage.chatfs("profile list")
        #expect(none.ending == .code(1) && none.errors.contains("--passphrase-fd"))
        let two = try await stage.chatfs("profile list --passphrase-fd 3 --key-fd 4", handing: ["a", "b"])
        #expect(two.ending == .code(64))
        let closed = try await stage.chatfs("profile list --passphrase-fd 77")
        #expect(closed.ending == .code(1) && !closed.errors.isEmpty)
    }

    @Test func plainDataCanBeEncryptedLater() async throws {
        let stage = try KeyStage()
        let made = try await stage.chatfs("profile create mark-of-alice --no-encryption")
        #expect(made.succeeded && made.errors.contains("anyone with the disk"))
        #expect(try await stage.chatfs("key status").output.contains("not encrypted"))
        #expect(try await stage.chatfs("profile list").output == "mark-of-alice\n")
        let set = try await stage.chatfs("key set --new-passphrase-fd 3", handing: ["first"])
        #expect(set.succeeded, "\(set.errors)")
        let status = try await stage.chatfs("key status")
        #expect(status.output.contains("encrypted; unlocked by\n  a passphrase, since 20"))
        let listed = try await stage.chatfs("profile list --passphrase-fd 3", handing: ["first"])
        #expect(listed.output == "mark-of-alice\n")
        let found = try await Shell.script("grep -rl mark-of-alice \(stage.data)")
        #expect(found.output == "")
    }

    @Test func recoveryCodeReplacesForgottenPassphrase() async throws {
        let stage = try KeyStage()
        try await stage.make(passphrase: "old")
        let printed = try await stage.chatfs("key recovery --passphrase-fd 3", handing: ["old"])
        #expect(printed.succeeded && printed.output.split(separator: "-").count == 6)
        let changed = try await stage.chatfs(
            "key change --recovery-code-fd 3 --new-passphrase-fd 4",
            handing: [printed.output.lowercased(), "new"])
        #expect(changed.succeeded, "\(changed.errors)")
        let asked = try await stage.chatfs("key change --forgotten --new-passphrase-fd 3", handing: ["x"])
        #expect(asked.ending == .code(64) && asked.errors.contains("--recovery-code-fd"))
        #expect(try await stage.chatfs("key test --passphrase-fd 3", handing: ["new"]).ending == .code(0))
        #expect(try await stage.chatfs("key test --passphrase-fd 3", handing: ["old"]).ending == .code(1))
        let mistyped = try await stage.chatfs(
            "key test --recovery-code-fd 3",
            handing: [String(printed.output.replacing("-", with: "").dropFirst().dropLast()) + "A"])
        #expect(mistyped.ending == .code(1) && mistyped.errors.contains("mistyped"))
        let json = try await stage.chatfs("key status --json")
        #expect(
            json.output.contains(#""kind":"recovery-code""#) && json.output.contains(#""encrypted":true"#))
    }

    @Test func damagedAndNewerDataDifferFromWrongPassphrase() async throws {
        let stage = try KeyStage()
        try await stage.make(passphrase: "a")
        let database = try stage.folder.read("data/chatfs.db")
        try stage.folder.write(Array("something else".utf8), to: "data/chatfs.db")
        let other = try await stage.chatfs("key test --passphrase-fd 3", handing: ["a"])
        #expect(other.ending == .code(1) && other.errors.contains("not a database"))
        try stage.folder.write(database, to: "data/chatfs.db")
        var keys = try stage.folder.read("data/keys")
        keys[70] ^= 1
        try stage.folder.write(keys, to: "data/keys")
        let damaged = try await stage.chatfs("key test --passphrase-fd 3", handing: ["a"])
        #expect(damaged.ending == .code(1) && damaged.errors.contains("damaged"))
    }

    @Test func mountsUnlockLikeCommandsAndPreventEncryption() async throws {
        let stage = try KeyStage()
        #expect(try await stage.chatfs("profile create alice --no-encryption").succeeded)
        // As data from before encryption, without the record that the hint was printed.
        #expect(unlink(stage.folder.path("data/encryption-offered")) == 0)
        let path = try stage.folder.makeFolder("mount")
        let mounting = "mount \(path) --background --cache-dir \(stage.folder.path("cache"))"
        let first = try await stage.chatfs(mounting)
        #expect(first.succeeded && first.errors.contains("chatfs key set"), "\(first.errors)")
        let refused = try await stage.chatfs("key set --new-passphrase-fd 3", handing: ["a"])
        #expect(refused.ending == .code(1) && refused.errors.contains("in use"))
        try await unmount(path)
        #expect(try await stage.chatfs("key set --new-passphrase-fd 3", handing: ["a"]).succeeded)
        #expect(try await stage.chatfs(mounting).ending == .code(77))
        let second = try await stage.chatfs(mounting + " --passphrase-fd 3", handing: ["a"])
        #expect(second.succeeded && !second.errors.contains("chatfs key set"), "\(second.errors)")
        try await unmount(path)
    }

    private func unmount(_ path: String) async throws {
        let outcome = try await ChatFSProcess.run(["unmount", path])
        #expect(outcome.succeeded, "\(outcome.errors)")
    }

    @Test func relayWithOwnFolderHasOwnKeys() async throws {
        let stage = try KeyStage()
        let folder = stage.folder.path("relay")
        let relay = try await ChatFSProcess.start(["relay", "--dir", folder])
        try await relay.line("its address") { $0.hasPrefix("xftp://") }
        #expect(try await relay.terminate() == .code(0))
        for name in ["records.db", "messages/queues.db"] {
            #expect(try stage.folder.read("relay/" + name).starts(with: Array("ChatFS-pages".utf8)))
        }
        let outcome = try await ChatFSProcess.run(
            ["relay", "--dir", folder], environment: ["CREDENTIALS_DIRECTORY": nil])
        #expect(outcome.ending == .code(1) && outcome.errors.contains("--key-fd"))
        let status = try await ChatFSProcess.run(["key", "status", "--relay-dir", folder])
        #expect(status.output.contains("an external key"))
    }
}
