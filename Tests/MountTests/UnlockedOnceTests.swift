import Glibc
import Posix
import TestSupport
import Testing

/// Data that only a passphrase unlocks, and commands without it.
@Suite struct UnlockedOnceTests {
    private let stage: KeyStage

    init() throws { stage = try KeyStage() }

    private func isLocked() async throws -> Bool {
        let outcome = try await stage.chatfs("profile list")
        return !outcome.succeeded && outcome.errors.contains("--passphrase-fd")
    }

    @Test func commandsUseTheKeyOfTheMount() async throws {
        try await stage.make(passphrase: "right")
        #expect(try await isLocked())
        let mount = stage.folder.path("new/folders/mount")
        let mounted = try await stage.chatfs(
            "mount \(mount) --background --cache-dir \(stage.folder.path("cache")) --passphrase-fd 3",
            handing: ["right"])
        #expect(mounted.succeeded, "\(mounted.errors)")
        let file = try stage.folder.write(Array("hello".utf8), to: "hello.txt")
        for command in [
            "send \(file) '*1'", "mute '*1'", "mute", "keep set --what all", "keep show", "relay list",
            "contact list",
            "network show", "requests", "storage show", "approve --policy always", "profile list", "verify",
        ] {
            let outcome = try await stage.chatfs(command)
            #expect(outcome.succeeded, "\(command): \(outcome.errors)")
        }
        let locked = try await stage.chatfs("lock")
        #expect(locked.succeeded && locked.errors.contains("until 'chatfs unmount'"), "\(locked.errors)")
        #expect(try await ChatFSProcess.run(["unmount", mount]).succeeded)
        #expect(try await isLocked())
    }

    @Test func agentKeepsTheKeyUntilItIsLocked() async throws {
        try await stage.make(passphrase: "right")
        let wrong = try await stage.chatfs("unlock --passphrase-fd 3", handing: ["wrong"])
        #expect(!wrong.succeeded && wrong.errors.contains("not the right one"))
        let unlocked = try await stage.chatfs("unlock --for 2h --passphrase-fd 3", handing: ["right"])
        #expect(unlocked.succeeded && unlocked.errors.contains("unlocked for 2 h"), "\(unlocked.errors)")
        #expect(try await stage.chatfs("profile list").output == "alice\n")
        // Unlocking again must prove knowledge of the passphrase.
        #expect(try await !stage.chatfs("unlock").succeeded)
        let locked = try await stage.chatfs("lock")
        #expect(locked.succeeded && locked.errors == "chatfs: locked\n", "\(locked.errors)")
        #expect(try await isLocked())
    }

    @Test func lockReportsAnAgentThatDoesNotAnswer() async throws {
        try await stage.make(passphrase: "right")
        #expect(try await stage.chatfs("unlock --passphrase-fd 3", handing: ["right"]).succeeded)
        let process = try #require(try stage.folder.names(in: "data/unlocked").first.flatMap { pid_t($0) })
        kill(process, SIGSTOP)
        let refused = try await stage.chatfs("lock")
        #expect(refused.ending == .code(1) && refused.errors.contains("\(process)"), "\(refused.errors)")
        kill(process, SIGCONT)
        #expect(try await stage.chatfs("lock").errors == "chatfs: locked\n")
    }

    @Test func agentForgetsTheKeyAfterItsTime() async throws {
        try await stage.make(passphrase: "right")
        let unlocked = try await stage.chatfs("unlock --for 1s --passphrase-fd 3", handing: ["right"])
        #expect(unlocked.succeeded, "\(unlocked.errors)")
        try await wait(until: "the key is forgotten") { try await isLocked() }
        try await wait(until: "its socket is gone") { try stage.folder.names(in: "data/unlocked").isEmpty }
    }

    @Test func agentEndsWithTheDataDirectory() async throws {
        try await stage.make(passphrase: "right")
        #expect(try await stage.chatfs("unlock --passphrase-fd 3", handing: ["right"]).succeeded)
        let process = try #require(try stage.folder.names(in: "data/unlocked").first.flatMap { pid_t($0) })
        let deleted = try await stage.chatfs("delete --everything --yes")
        #expect(deleted.succeeded, "\(deleted.errors)")
        #expect(access(stage.data, F_OK) != 0)
        try await wait(until: "the agent has ended") { kill(process, 0) != 0 }
    }

    @Test func dataInClearNeedsNoUnlocking() async throws {
        #expect(try await stage.chatfs("unlock").errors.contains("no profile yet"))
        #expect(try await stage.chatfs("profile create alice --no-encryption").succeeded)
        let outcome = try await stage.chatfs("unlock")
        #expect(
            outcome.ending == .code(1) && outcome.errors.contains("nothing to unlock"), "\(outcome.errors)")
    }
}
