import Glibc
import Posix
import TestSupport
import Testing

@Suite("Mounts of the configuration", .serialized)
struct ConfiguredMountTests {
    private static func configure(_ mounts: CopyStage, _ text: String) throws -> [String: String] {
        _ = try mounts.folder.makeFolder("config")
        _ = try mounts.folder.makeFolder("config/chatfs")
        try mounts.folder.write(Array(text.utf8), to: "config/chatfs/config.toml")
        return ["XDG_CONFIG_HOME": mounts.folder.path("config"), "HOME": mounts.folder.path("home")]
    }

    @Test("the file sets folder, options and rules")
    func named() async throws {
        let mounts = try await CopyStage.start()
        let environment = try Self.configure(
            mounts,
            """
            [mount]
            cache-dir = "\(mounts.folder.path("cache"))"
            data = "\(mounts.folder.path("data"))"
            delete = "self"
            [mounts.ours]
            mountpoint = "\(mounts.folder.path("a"))"
            profile = "alice"
            [mounts.ours.chats.bob]
            mute = true
            keep = "all"
            """)
        let daemon = try await ChatFSProcess.start(
            ["mount", "ours"], environment: environment)
        defer { daemon.send(SIGKILL) }
        try await daemon.line("that it is mounted", within: .seconds(60)) { $0.contains("is mounted at") }
        try await wait(until: "the rule is kept") {
            // The folder is made with the first rule.
            (try? mounts.folder.names(in: "data/profiles/1/muted"))?.count == 1
        }
        try await wait(until: "bob's files are kept") {
            try await mounts.chatfs(["keep", "show", "--chat", "bob", "--profile", "alice"]).contains(
                "--what all")
        }
        // The name selects it in other commands too.
        let unmounted = try await ChatFSProcess.run(["unmount", "ours"], environment: environment)
        #expect(unmounted.succeeded, "\(unmounted.errors)")
        #expect(try await daemon.ending() == .code(0))
        // The file's only mount needs no name. The command line takes precedence.
        let again = try await ChatFSProcess.run(
            ["mount", "--profile", "nobody"], environment: environment)
        #expect(!again.succeeded && again.errors.contains("nobody"), "\(again.errors)")
    }

    @Test("a service reports readiness, status and life")
    func service() async throws {
        let mounts = try await CopyStage.start()
        var environment = try Self.configure(
            mounts,
            """
            [mounts.ours]
            mountpoint = "\(mounts.folder.path("a"))"
            cache-dir = "\(mounts.folder.path("cache"))"
            data = "\(mounts.folder.path("data"))"
            profile = "alice"
            """)
        let manager = try DatagramListener(path: mounts.folder.path("notify"))
        environment["NOTIFY_SOCKET"] = manager.path
        environment["WATCHDOG_USEC"] = "200000"
        let daemon = try await ChatFSProcess.start(["mount", "ours"], environment: environment)
        defer { daemon.send(SIGKILL) }
        var said = ""
        try await wait(until: "the service lives") {
            said += manager.all()
            return said.matches(of: /WATCHDOG=1/).count > 2
        }
        #expect(said.hasPrefix("READY=1\n"))
        #expect(said.contains("STATUS=alice at \(mounts.folder.path("a")): no transfers\n"), "\(said)")
        #expect(try await daemon.terminate() == .code(0))
        #expect(manager.all().contains("STOPPING=1\n"))
    }

    @Test("--save stores options as a mount")
    func saved() async throws {
        let mounts = try await CopyStage.start()
        let environment = try Self.configure(mounts, "# mine")
        let options = [
            "--profile", "alice", "--data", mounts.folder.path("data"), "--cache-dir",
            mounts.folder.path("cache"),
            "--folders", "refuse", "--no-finish",
        ]
        // A failed mount is not saved, so that the corrected command succeeds.
        let failed = try await ChatFSProcess.run(
            ["mount", mounts.folder.path("a"), "--save", "ours", "--profile", "nobody"]
                + options.dropFirst(2), environment: environment)
        #expect(!failed.succeeded && failed.errors.contains("nobody"), "\(failed.errors)")
        let daemon = try await ChatFSProcess.start(
            ["mount", mounts.folder.path("a"), "--save", "ours"] + options, environment: environment)
        defer { daemon.send(SIGKILL) }
        try await daemon.line("that it is mounted", within: .seconds(60)) { $0.contains("is mounted at") }
        #expect(try await daemon.terminate() == .code(0))
        let shown = try await ChatFSProcess.run(["config", "show", "ours"], environment: environment)
        for line in ["profile = \"alice\"", "folders = \"refuse\"", "no-finish = true"] {
            #expect(shown.output.contains(line + "\n"), "\(shown.output)")
        }
        #expect(!shown.output.contains("save"))
        let again = try await ChatFSProcess.run(
            ["mount", mounts.folder.path("b"), "--save", "ours"] + options, environment: environment)
        #expect(!again.succeeded && again.errors.contains("was not saved"), "\(again.errors)")
    }

    @Test("without libarchive folders are refused")
    func withoutArchives() async throws {
        let mounts = try await CopyStage.start(encrypted: false)
        try mounts.folder.write(Array("no library".utf8), to: "libarchive.so.13")
        let environment = ["LD_LIBRARY_PATH": mounts.folder.path]
        let daemon = try await mounts.mount("alice", environment: environment)
        defer { daemon.send(SIGKILL) }
        #expect(daemon.errors.contains("folders not sent"), "\(daemon.errors)")
        #expect(try await daemon.terminate() == .code(0))
        let asked = try await ChatFSProcess.run(
            [
                "mount", mounts.folder.path("a"), "--profile", "alice", "--folders", "archive", "--data",
                mounts.folder.path("data"),
            ], environment: environment)
        #expect(asked.ending == .code(64) && asked.errors.contains("libarchive13"), "\(asked.errors)")
    }

    @Test("an error names its line before the mount")
    func mistake() async throws {
        let mounts = try await CopyStage.start(encrypted: false)
        let environment = try Self.configure(
            mounts, "[mounts.ours]\nmountpoint = \"/x\"\nquiettime = \"1s\"\n")
        for command in [["mount", "ours"], ["config", "check"], ["config", "show"]] {
            let outcome = try await ChatFSProcess.run(command, environment: environment)
            #expect(!outcome.succeeded)
            #expect(
                outcome.errors.contains(
                    "Line 3: unknown key mounts.ours.quiettime; did you mean 'quiet-time'?"),
                "\(outcome.errors)")
        }
    }

    @Test("edit creates, opens and checks the file")
    func edit() async throws {
        let folder = try TemporaryFolder()
        var environment = ["XDG_CONFIG_HOME": folder.path("config"), "HOME": folder.path("home")]
        environment["VISUAL"] = "cp \(folder.path("new"))"
        try folder.write(Array("[mounts.a]\nmountpoint = \"/a\"\nfolders = \"archive\"\n".utf8), to: "new")
        let edited = try await ChatFSProcess.run(["config", "edit"], environment: environment)
        #expect(edited.succeeded, "\(edited.errors)")
        let shown = try await ChatFSProcess.run(["config", "show", "a"], environment: environment)
        #expect(shown.output == "[mounts.a]\nmountpoint = \"/a\"\nfolders = \"archive\"\n")
        let path = try await ChatFSProcess.run(["config", "path"], environment: environment)
        #expect(path.output == folder.path("config/chatfs/config.toml") + "\n")
        environment["VISUAL"] = "false"
        #expect(try await !ChatFSProcess.run(["config", "edit"], environment: environment).succeeded)
    }
}
