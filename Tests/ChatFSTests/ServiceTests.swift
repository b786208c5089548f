import CommandLineKit
import Glibc
import TestSupport
import Testing

@testable import chatfs

/// Units of systemd, and what commands make of them.
@Suite struct ServiceTests {
    @Test(arguments: [
        ("home", "chatfs@home.service"), ("my-chats", "chatfs@my\\x2dchats.service"),
        ("Book club", "chatfs@Book\\x20club.service"), (".a.b", "chatfs@\\x2ea.b.service"),
        ("é", "chatfs@\\xc3\\xa9.service"),
    ])
    func namesAreEscapedAsBySystemd(_ mount: String, _ unit: String) {
        #expect(ServiceUnit.name(of: mount) == unit)
    }

    @Test func ownTemplateMatchesPackage() throws {
        let packaged = try LayeringTests.text("contrib/systemd/chatfs@.service")
        #expect(packaged.hasSuffix("\n" + ServiceUnit.shared))
        let own = ServiceUnit.text(program: "/opt/my apps/chatfs")
        #expect(
            own.hasPrefix(ServiceUnit.mark) && own.contains("\nExecStart=\"/opt/my apps/chatfs\" mount %I"))
        #expect(ServiceUnit.text(program: "/a%$b").contains("\nExecStart=/a%%$$b mount"))
    }

    @Test func unitStateHasDisplayText() {
        let running = ServiceState(
            "Id=chatfs@a.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\nStatusText=ann at /c\n"
        )
        #expect(running.words == "mounted, starts at login: ann at /c" && running.isKnown)
        let locked = ServiceState("ActiveState=failed\nResult=exit-code\nExecMainStatus=77\n")
        #expect(locked.words.contains("chatfs unlock") && locked.words.hasSuffix("not at login"))
        #expect(ServiceState("ActiveState=failed\nResult=start-limit-hit\n").words.contains("five failures"))
        #expect(ServiceState("").words == "not mounted, not at login")
    }
}

/// `chatfs service` with a systemctl that records its calls.
@Suite struct ServiceCommandTests {
    private let folder: TemporaryFolder
    private let environment: [String: String?]

    init() throws {
        folder = try TemporaryFolder()
        for name in ["home", "config", "config/chatfs", "bin"] { _ = try folder.makeFolder(name) }
        try folder.write(
            Array("[mounts.home]\nmountpoint = \"/m\"\n[mounts.my-work]\nmountpoint = \"/w\"\n".utf8),
            to: "config/chatfs/config.toml")
        environment = [
            "HOME": folder.path("home"), "XDG_CONFIG_HOME": folder.path("config"), "XDG_DATA_HOME": nil,
            "PATH": folder.path("bin") + ":/usr/bin:/bin",
        ]
    }

    /// - Parameter script: what it does with its arguments, without `--user --no-pager`.
    private func installSystemctl(_ script: String = "") throws {
        let text = """
            #!/bin/sh
            shift 2
            echo "$*" >>'\(folder.path("calls"))'
            \(script)
            case $1 in show) echo ActiveState=active; echo LoadState=loaded; echo UnitFileState=enabled ;; esac
            """
        try folder.write(Array(text.utf8), to: "bin/systemctl")
        chmod(folder.path("bin/systemctl"), 0o755)
    }

    private func calls() throws -> [String] {
        String(decoding: try folder.read("calls"), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func service(_ arguments: String...) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(["service"] + arguments, environment: environment)
    }

    @Test func installEnablesAndStartsMounts() async throws {
        try installSystemctl()
        let outcome = try await service("install")
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(outcome.output.contains("enabled chatfs@my\\x2dwork.service\n"))
        #expect(outcome.output.contains("home: mounted, starts at login\n"))
        let calls = try calls()
        for call in [
            "daemon-reload", "enable --quiet chatfs@home.service", "start chatfs@my\\x2dwork.service",
        ] {
            #expect(calls.contains(call), "\(calls)")
        }
        // No package has brought the template here, or one of this machine has.
        let path = folder.path("config/systemd/user/chatfs@.service")
        if outcome.output.contains("wrote \(path)\n") {
            let text = String(decoding: try folder.read("config/systemd/user/chatfs@.service"), as: UTF8.self)
            #expect(text == ServiceUnit.text(program: ChatFSProcess.path))
        }
    }

    @Test func startWaitsAsLongAsUnit() async throws {
        try installSystemctl("case $1 in show) exec sleep 60 ;; start) sleep 1 ;; esac")
        let services = UserServices(folder.path("bin/systemctl"), timeout: .milliseconds(100))
        await #expect(throws: Refusal.self) { _ = try await services.ask(["show"]) }
        #expect(try await services.start("home").succeeded)
    }

    @Test func uninstallPrintsRemovedItems() async throws {
        try installSystemctl()
        _ = try await service("install", "home")
        let outcome = try await service("uninstall", "home")
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(outcome.output.contains("disabled chatfs@home.service\n"))
        #expect(try calls().contains("disable --quiet --now chatfs@home.service"))
        #expect(access(folder.path("config/systemd"), F_OK) != 0 || !outcome.output.contains("removed"))
        #expect(access(folder.path("config/systemd/user/chatfs@.service"), F_OK) != 0)
    }

    @Test func unknownMountGetsSuggestion() async throws {
        try installSystemctl()
        let outcome = try await service("install", "hom")
        #expect(
            outcome.ending == .code(1) && outcome.errors.contains("did you mean 'home'?"), "\(outcome.errors)"
        )
        #expect(access(folder.path("calls"), F_OK) != 0)
    }

    @Test func failedUnitEndsStatusWithOne() async throws {
        try installSystemctl("case $1 in show) echo ActiveState=failed; echo Result=watchdog; exit ;; esac")
        let outcome = try await service("status", "home")
        #expect(outcome.ending == .code(1))
        #expect(outcome.output == "home: failed (the mount did not answer), not at login\n")
        let json = try await service("status", "home", "--json")
        #expect(
            json.output.contains(#""result":"watchdog","state":"failed","unit":"chatfs@home.service""#),
            "\(json.output)")
    }

    @Test func missingSystemdNamesAlternative() async throws {
        try installSystemctl("echo 'Failed to connect to bus: No medium found' >&2; exit 1")
        let outcome = try await service("start", "home")
        #expect(outcome.ending == .code(1) && outcome.errors.contains("No medium found"))
        #expect(outcome.errors.contains("chatfs mount NAME --background"))
    }
}
