import Glibc
import Posix
import TestSupport
import Testing

/// The desktop's keyring. A C library replaces libsecret, so that it can be locked and hang.
@Suite struct KeyringTests {
    @Test func newDataIsUnlockedByKeyringWithoutPrompt() async throws {
        var stage = try KeyStage()
        try await stage.installKeyring()
        let made = try await stage.chatfs("profile create alice")
        #expect(made.succeeded && made.errors.contains("its key is in the keyring"), "\(made.errors)")
        #expect(try stage.kept().count == 1)
        #expect(try await stage.chatfs("profile list").output == "alice\n")
        #expect(try await stage.chatfs("key status").output.contains("the keyring"))
        // The last way cannot be removed.
        let forgotten = try await stage.chatfs("key forget")
        #expect(forgotten.ending == .code(1) && forgotten.errors.contains("last way"))
        #expect(try stage.kept().count == 1)
    }

    @Test func lockedKeyringIsReportedAndCanBeUnlocked() async throws {
        var stage = try KeyStage()
        try await stage.installKeyring()
        #expect(try await stage.chatfs("profile create alice").succeeded)
        try stage.setKeyring("locked")
        let locked = try await stage.chatfs("profile list")
        #expect(locked.ending == .code(1) && locked.errors.contains("keyring is locked: unlock it"))
        try stage.setKeyring("prompts")
        let unlocked = try await stage.chatfs("profile list")
        #expect(unlocked.output == "alice\n" && unlocked.errors.contains("asks you to unlock it"))
        let name = try #require(try stage.kept().first)
        try stage.folder.write(Array("no key".utf8), to: "keyring/" + name)
        try stage.setKeyring("works")
        let nonsense = try await stage.chatfs("profile list")
        #expect(nonsense.ending == .code(1) && nonsense.errors.contains("another value"))
        unlink(stage.folder.path("keyring/" + name))
        let gone = try await stage.chatfs("profile list")
        #expect(gone.ending == .code(1) && gone.errors.contains("no key of it"))
    }

    /// The systemd unit restarts a failed mount, unless the restart would only prompt again.
    @Test func onlyMountAwaitingKeyringIsRestarted() async throws {
        var stage = try KeyStage()
        try await stage.installKeyring()
        #expect(try await stage.chatfs("profile create alice").succeeded)
        let path = try stage.folder.makeFolder("mount")
        try stage.setKeyring("locked")
        for options in ["", " --background"] {
            let locked = try await stage.chatfs("mount \(path)\(options)")
            #expect(locked.ending == .code(77) && locked.errors.contains("is locked"), "\(locked.errors)")
        }
        try stage.folder.write(Array("wrong".utf8), to: "chatfs.passphrase")
        stage.environment["CREDENTIALS_DIRECTORY"] = stage.folder.path
        let wrong = try await stage.chatfs("mount \(path)")
        #expect(wrong.ending == .code(77) && wrong.errors.contains("credential"), "\(wrong.errors)")
        stage.environment["CREDENTIALS_DIRECTORY"] = .some(nil)
        stage.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nowhere"
        stage.environment["LD_LIBRARY_PATH"] = .some(nil)
        let absent = try await stage.chatfs("mount \(path)")
        #expect(absent.ending == .code(1), "\(absent.errors)")
        // At login the bus may start later.
        stage.environment["DBUS_SESSION_BUS_ADDRESS"] = .some(nil)
        let early = try await stage.chatfs("mount \(path)")
        #expect(early.ending == .code(1) && early.errors.contains("no keyring"), "\(early.errors)")
    }

    @Test func hangingKeyringDelaysNoCommand() async throws {
        var stage = try KeyStage()
        try await stage.installKeyring()
        #expect(try await stage.chatfs("profile create alice").succeeded)
        try stage.setKeyring("hangs")
        let path = try stage.folder.makeFolder("mount")
        let outcome = try await stage.chatfs("mount \(path)")
        #expect(outcome.ending == .code(1) && outcome.errors.contains("does not answer"), "\(outcome.errors)")
    }

    @Test func forgetfulKeyringIsNotTrustedWithNewData() async throws {
        var stage = try KeyStage()
        try await stage.installKeyring()
        try stage.setKeyring("forgets")
        let made = try await stage.chatfs("profile create alice")
        #expect(made.ending == .code(1) && made.errors.contains("did not keep the key"), "\(made.errors)")
        #expect(access(stage.data + "/keys", F_OK) != 0 && access(stage.data + "/chatfs.db", F_OK) != 0)
        try stage.setKeyring("works")
        #expect(try await stage.chatfs("profile create alice").succeeded)
        #expect(try await stage.chatfs("profile list").output == "alice\n")
    }

    @Test func passphraseMovesIntoKeyringAndBack() async throws {
        var stage = try KeyStage()
        try await stage.make(passphrase: "a")
        let absent = try await stage.chatfs("key remember --passphrase-fd 3", handing: ["a"])
        #expect(absent.ending == .code(1) && absent.errors.contains("no keyring"))
        try await stage.installKeyring()
        let remembered = try await stage.chatfs("key remember --passphrase-fd 3", handing: ["a"])
        #expect(remembered.succeeded, "\(remembered.errors)")
        #expect(try await stage.chatfs("profile list").output == "alice\n")
        #expect(try await stage.chatfs("key forget").succeeded)
        #expect(try stage.kept().isEmpty)
        #expect(try await stage.chatfs("profile list").ending == .code(1))
        #expect(
            try await stage.chatfs("profile list --passphrase-fd 3", handing: ["a"]).output == "alice\n")
    }

    private static var isInstalled: Bool {
        ["gnome-keyring-daemon", "dbus-run-session"].allSatisfy { (try? Shell.find($0)) != nil }
            && dlopen("libsecret-1.so.0", RTLD_NOW) != nil
    }

    @Test(.enabled(if: Self.isInstalled, "gnome-keyring or libsecret-1-0 is not installed"))
    func realKeyringStoresKey() async throws {
        let stage = try KeyStage()
        let script = """
            printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null
            \(ChatFSProcess.path) profile create alice --data \(stage.data)
            \(ChatFSProcess.path) profile list --data \(stage.data)
            """
        let outcome = try await Shell.run(
            "dbus-run-session", ["--", "sh", "-ec", script],
            environment: [
                "CREDENTIALS_DIRECTORY": nil, "HOME": stage.folder.path, "XDG_DATA_HOME": nil,
                "XDG_RUNTIME_DIR": stage.folder.path,
            ])
        #expect(outcome.output == "alice\n", "\(outcome.errors)")
    }
}
