import Glibc
import Posix
import TestSupport
import Testing

@Suite struct PromptTests {
    private let stage: KeyStage
    private static let asked = "Passphrase for ChatFS' data, not your SimpleX one: "
    private static let new = "New passphrase for ChatFS' data, not your SimpleX one: "
    private static let again = "Repeat passphrase: "

    init() throws { stage = try KeyStage() }

    private func chatfs(_ words: String, _ steps: [ScriptedTerminal.Step]) async throws
        -> ScriptedTerminal.Outcome
    {
        let nobody: [String: String?] = [
            "CREDENTIALS_DIRECTORY": nil, "DBUS_SESSION_BUS_ADDRESS": nil, "XDG_RUNTIME_DIR": nil,
        ]
        return try await ScriptedTerminal.run(
            ChatFSProcess.path, words.split(separator: " ").map(String.init) + ["--data", stage.data],
            environment: nobody, steps)
    }

    /// Ends the agent that keeps new data unlocked.
    private func lock() async throws {
        #expect(try await ChatFSProcess.run(["lock", "--data", stage.data]).succeeded)
    }

    @Test func weakPassphraseIsAcceptedWithWarning() async throws {
        let made = try await chatfs(
            "profile create alice",
            [
                .wait(Self.new), .type("12345\n"), .wait("this passphrase is weak"), .wait(Self.again),
                .type("12345\n"),
            ])
        #expect(made.ending == .code(0), "\(made.shown)")
        try await lock()
    }

    @Test func firstCommandsNeedTwoPrompts() async throws {
        let made = try await chatfs(
            "profile create alice",
            [
                .wait(Self.new), .type("correct horse\n"), .wait(Self.again), .type("correct horse\n"),
                .wait("unlocked for 15 min"),
            ])
        #expect(made.ending == .code(0), "\(made.shown)")
        let mount = stage.folder.path("a/b/mount")
        let mounted = try await chatfs(
            "mount \(mount) --background --cache-dir \(stage.folder.path("cache"))", [])
        #expect(mounted.ending == .code(0) && !mounted.shown.contains("assphrase"), "\(mounted.shown)")
        try await lock()
        let file = try stage.folder.write(Array("hello".utf8), to: "hello.txt")
        let sent = try await chatfs("send \(file) *1", [])
        #expect(sent.ending == .code(0) && !sent.shown.contains("assphrase"), "\(sent.shown)")
        #expect(try await ChatFSProcess.run(["unmount", mount]).succeeded)
        let asked = try await chatfs("profile list", [.wait(Self.asked), .type("correct horse\n")])
        #expect(asked.ending == .code(0))
    }

    @Test(arguments: ["", " --json"])
    func doctorAsksBeforeItContactsServers(_ format: String) async throws {
        let relay = "xftp://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=@relay.invalid"
        let outcome = try await chatfs(
            "doctor --relay \(relay)" + format, [.wait("Contact 1 server"), .type("n\n")])
        #expect(!outcome.shown.contains("relay.invalid"), "\(outcome.shown)")
    }

    @Test func recoveryCodeUnlocksAtThePrompt() async throws {
        try await stage.make(passphrase: "right")
        let printed = try await stage.chatfs("key recovery --passphrase-fd 3", handing: ["right"])
        let code = printed.output.split(separator: "\n").first.map(String.init) ?? ""
        let listed = try await chatfs("profile list", [.wait(Self.asked), .type(code + "\n")])
        #expect(listed.ending == .code(0) && listed.shown.contains("alice"), "\(listed.shown)")
    }

    @Test func newPassphraseIsTypedTwiceWithoutEcho() async throws {
        let made = try await chatfs(
            "profile create alice",
            [
                .wait(Self.new), .type("correct horse\n"),
                .wait(Self.again), .type("correct horse\n"),
            ])
        #expect(made.ending == .code(0) && made.echoes == [false, false, true], "\(made.shown)")
        #expect(!made.shown.contains("horse") && !made.shown.contains("weak"))
        try await lock()
        let listed = try await chatfs("profile list", [.wait(Self.asked), .type("correct horse\n")])
        #expect(
            listed.ending == .code(0) && listed.shown.contains("alice") && !listed.shown.contains("horse"))
        #expect(listed.echoes == [false, true])
    }

    @Test func differingPassphrasesCreateNothing() async throws {
        let differing = try await chatfs(
            "profile create alice",
            [
                .wait(Self.new), .type("one\n"),
                .wait(Self.again),
                .type("other\n"), .wait("differ"),
            ])
        #expect(differing.ending == .code(1) && differing.echoes == [false, false, true])
        #expect(access(stage.data, F_OK) != 0)
    }

    @Test func wrongPassphraseIsRetriedThreeTimes() async throws {
        try await stage.make(passphrase: "right")
        let again = "Wrong passphrase. " + Self.asked
        let third = try await chatfs(
            "profile list",
            [
                .wait(Self.asked), .type("wrong\n"), .wait(again), .type("wrong\n"), .wait(again),
                .type("right\n"),
            ])
        #expect(third.ending == .code(0) && third.shown.contains("alice"), "\(third.shown)")
        #expect(!third.shown.contains("right\r") && !third.shown.contains("wrong"))
        let never = try await chatfs(
            "profile list",
            [
                .wait(Self.asked), .type("wrong\n"), .wait(again), .type("wrong\n"), .wait(again),
                .type("wrong\n"), .wait("is not the right one"),
            ])
        #expect(never.ending == .code(1) && never.echoes.last == true)
        #expect(never.shown.components(of: Self.asked) == 3)
    }

    @Test(
        "a killed prompt restores the terminal's echo",
        arguments: [
            ("profile list", ScriptedTerminal.Step.type("secr\u{3}"), SIGINT),
            ("profile list", .type("secr\u{1C}"), SIGQUIT), ("profile list", .signal(SIGTERM), SIGTERM),
            ("profile list", .signal(SIGHUP), SIGHUP), ("verify", .type("secr\u{3}"), SIGINT),
            ("mount MOUNT", .type("secr\u{3}"), SIGINT), ("mount MOUNT", .signal(SIGTERM), SIGTERM),
            ("mount MOUNT --background", .type("secr\u{3}"), SIGINT),
            ("export MOUNT/a.zip", .signal(SIGTERM), SIGTERM),
        ])
    func ended(words: String, step: ScriptedTerminal.Step, number: Int32) async throws {
        try await stage.make(passphrase: "right")
        let mount = try stage.folder.makeFolder("mount")
        // SIGTSTP is ignored, because the shell would turn the echo on.
        let outcome = try await chatfs(
            words.replacing("MOUNT", with: mount), [.wait(Self.asked), .type("\u{1A}"), step])
        #expect(outcome.ending == .signal(number), "\(outcome.ending): \(outcome.shown)")
        #expect(
            outcome.echoes == [false, false, true] && !outcome.shown.contains("secr"), "\(outcome.shown)")
    }

    @Test func backgroundMountPromptsFirstAndReportsFailure() async throws {
        try await stage.make(passphrase: "right")
        let mount = try stage.folder.makeFolder("mount")
        let outcome = try await chatfs(
            "mount \(mount) --background --cache-dir \(stage.folder.path("cache"))",
            [
                .wait(Self.asked), .type("wrong\n"), .wait("Wrong passphrase. " + Self.asked),
                .type("right\n"),
            ])
        #expect(outcome.ending == .code(0) && outcome.echoes == [false, false, true], "\(outcome.shown)")
        #expect(try await ChatFSProcess.run(["unmount", mount]).succeeded)
    }

    @Test func backgroundProcessIsNotStopped() async throws {
        try await stage.make(passphrase: "right")
        // Job control: the program is not in the terminal's foreground group.
        let outcome = try await ScriptedTerminal.run(
            "/bin/bash",
            [
                "-c",
                "set -m; \(ChatFSProcess.path) profile list --data \(stage.data) & wait $!; echo ended with $?",
            ],
            environment: [
                "CREDENTIALS_DIRECTORY": nil, "DBUS_SESSION_BUS_ADDRESS": nil, "XDG_RUNTIME_DIR": nil,
            ], [.wait("ended with 1")])
        #expect(outcome.shown.contains("--passphrase-fd") && !outcome.shown.contains(Self.asked))
    }

    @Test func newDataNeedsForegroundProcess() async throws {
        let outcome = try await ScriptedTerminal.run(
            "/bin/bash",
            [
                "-c",
                "set -m; \(ChatFSProcess.path) profile create alice --data \(stage.data) & wait $!; echo ended with $?",
            ],
            environment: [
                "CREDENTIALS_DIRECTORY": nil, "DBUS_SESSION_BUS_ADDRESS": nil, "XDG_RUNTIME_DIR": nil,
            ], [.wait("ended with 64")])
        #expect(outcome.shown.contains("in the foreground once"), "\(outcome.shown)")
        #expect(access(stage.data, F_OK) != 0)
    }

    @Test func answeringNoIsNoUsageError() async throws {
        try await stage.make(passphrase: "right")
        let outcome = try await chatfs(
            "profile delete alice",
            [.wait(Self.asked), .type("right\n"), .wait("chats and files? [y/N] "), .type("n\n")])
        #expect(outcome.ending == .code(1))
        #expect(outcome.shown.contains("Nothing was deleted.") && !outcome.shown.contains("--help"))
    }
}

extension String {
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
