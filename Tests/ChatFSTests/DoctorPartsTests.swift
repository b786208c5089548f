import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs

/// Parts of `chatfs doctor` that need no machine.
@Suite struct DoctorPartsTests {
    private func report(_ finding: Finding) -> String {
        DoctorReport(
            [finding], versions: ["chatfs 1"], system: "Debian", home: "/home/ada", own: ["ada", "box"]
        )
        .lines.last ?? ""
    }

    @Test(arguments: [
        Finding.good("profiles: bob, bobby", naming: ["bob", "bobby"]),
        .good("the relay relay.example.org:443 answers", naming: ["relay.example.org"]),
        .bad("smp://abc@relay.example:5223 and 10.1.2.3 and [2001:db8::1]:443"),
        .bad("box said: ada is at example.org:99"),
    ])
    func reportHasNoNames(_ finding: Finding) {
        let line = report(finding)
        for word in ["bob", "example", "10.1", "2001", "abc", "box", "ada"] {
            #expect(!line.contains(word), "\(line)")
        }
        #expect(line.contains("***"))
    }

    @Test func reportHasNoMountpoints() {
        let examination = DesktopExamination(
            home: "/home/ada", configuration: "/home/ada/.config", mountpoints: ["/mnt/bob"])
        let findings =
            examination.tumbler("") + examination.baloo("folders=/mnt/\n", program: "balooctl")
            + examination.tracker("['/mnt/bob']\n")
        #expect(findings.count == 3)
        for finding in findings { #expect(!report(finding).contains("bob"), "\(finding.text)") }
    }

    @Test func reportKeepsPlainWordsAndVersions() {
        #expect(report(.bad("/home/ada/.cache cannot be used")) == "missing  ~/.cache cannot be used")
        // Names are words.
        #expect(report(.note("adaptive boxes")) == "note     adaptive boxes")
        let lines = DoctorReport([], versions: ["chatfs 1"], system: nil, home: "/", own: []).lines
        #expect(lines == ["chatfs 1", "unknown system", ""])
    }

    @Test func pastClockIsReported() {
        #expect(SystemExamination.clock(now: 0, isSynchronised: true).kind == .bad)
        #expect(SystemExamination.clock(now: 1_800_000_000, isSynchronised: false).kind == .note)
        #expect(SystemExamination.clock(now: 1_800_000_000, isSynchronised: nil).kind == .good)
    }

    @Test func kernelFeaturesAreNamed() {
        #expect(SystemExamination.landlock(version: 0).text.contains("Linux 5.13"))
        #expect(SystemExamination.passthrough(kernel: "6.1.0-9-amd64", isRoot: true)?.kind == .note)
        #expect(SystemExamination.passthrough(kernel: "6.12.1", isRoot: true)?.kind == .good)
        #expect(SystemExamination.passthrough(kernel: "6.12.1", isRoot: false) == nil)
        #expect(SystemExamination.passthrough(kernel: "", isRoot: true) == nil)
    }

    @Test func missingNetworkGivesOneFinding() async throws {
        var servers = ServerExamination()
        for host in ["a.example", "b.example"] {
            let text = "xftp://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=@\(host)"
            servers.add(try #require(AnyRelay(text)))
            servers.add(try #require(AnyRelay(text)))
        }
        #expect(servers.remoteCount == 2)
        let findings = await servers.findings(hasNetwork: false)
        #expect(findings.map(\.kind) == [.failed] && findings[0].text.hasPrefix("no network: 2 servers"))
    }

    @Test func stoppedServiceNamesStartCommand() {
        let failed = ServiceState("ActiveState=failed\nUnitFileState=enabled\n")
        #expect(ServiceExamination.finding(of: failed, mount: "home")?.isBad == true)
        let stopped = ServiceState("ActiveState=inactive\nUnitFileState=enabled\n")
        #expect(
            ServiceExamination.finding(of: stopped, mount: "home")?.text.contains("service start home")
                == true)
        #expect(ServiceExamination.finding(of: ServiceState("ActiveState=inactive\n"), mount: "home") == nil)
    }
}

/// Options of `chatfs doctor`.
@Suite struct DoctorOptionsTests {
    @Test func reportIsNewPrivateFile() async throws {
        let folder = try TemporaryFolder()
        let arguments = [
            "doctor", "--data", folder.path("data"), "--offline", "--report", folder.path("report"),
        ]
        let environment = ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path]
        _ = try await ChatFSProcess.run(arguments, environment: environment)
        let text = String(decoding: try folder.read("report"), as: UTF8.self)
        #expect(text.hasPrefix("chatfs \(Release.version)\n") && text.contains("/dev/fuse"))
        #expect(!text.contains(folder.path))
        #expect(try OpenFile(folder.path("report"), flags: O_RDONLY).status().st_mode & 0o777 == 0o600)
        let again = try await ChatFSProcess.run(arguments, environment: environment)
        #expect(again.ending == .code(1) && again.errors.contains("report"), "\(again.errors)")
    }

    @Test func reportHasNoChatsOfConfiguration() async throws {
        let folder = try TemporaryFolder()
        for name in ["config", "config/chatfs"] { _ = try folder.makeFolder(name) }
        try folder.write(
            Array("[mounts.home]\nmountpoint = \"/m\"\n[mounts.home.chats.Bob]\nmuted = true\n".utf8),
            to: "config/chatfs/config.toml")
        let outcome = try await ChatFSProcess.run(
            ["doctor", "--data", folder.path("data"), "--offline", "--report", folder.path("report")],
            environment: ["HOME": folder.path, "XDG_CONFIG_HOME": folder.path("config")])
        #expect(outcome.output.contains("unknown key mounts.home.chats.Bob.muted"), "\(outcome.output)")
        let text = String(decoding: try folder.read("report"), as: UTF8.self)
        #expect(text.contains("configuration cannot be used") && !text.contains("Bob"), "\(text)")
    }

    @Test func offlineContactsNoServer() async throws {
        let folder = try TemporaryFolder()
        let outcome = try await ChatFSProcess.run(
            [
                "doctor", "--data", folder.path("data"), "--offline", "--relay",
                "xftp://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=@127.0.0.1:1",
            ], environment: ["HOME": folder.path])
        #expect(!outcome.output.contains("127.0.0.1"), "\(outcome.output)")
    }
}
