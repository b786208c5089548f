import Glibc
import Posix
import TestSupport
import Testing

@Suite("Notifications on a desktop", .serialized)
struct NotificationTests {
    /// Bob on this desktop, Alice without one.
    private static func mounts(
        _ desktop: NotificationDesktop, _ more: [String] = []
    ) async throws -> TwoMounts {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        try await mountBob(mounts, desktop, more)
        return mounts
    }

    private static func mountBob(
        _ mounts: TwoMounts, _ desktop: NotificationDesktop, _ more: [String] = []
    ) async throws {
        try await mounts.mount("bob", more, environment: desktop.environment)
        // The first mount records the history.
        let folders = try mounts.folder.names(in: "data/profiles")
        try await wait(until: "the mount knows what was told") {
            folders.contains { access(mounts.path("data/profiles/\($0)/notifications"), F_OK) == 0 }
        }
    }

    /// The mounts' records by profile.
    private static func told(_ mounts: TwoMounts) throws -> [[UInt8]] {
        try mounts.folder.names(in: "data/profiles").sorted().map { profile in
            (try? mounts.folder.read("data/profiles/\(profile)/notifications")) ?? []
        }
    }

    @Test("an arrival is notified once without secrets")
    func arrival() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        do {
            let file = try mounts.create("alice/bob/<b>x & y.txt")
            try file.write([1], at: 0)
            try ExtendedAttribute.set(
                "user.chatfs.caption", to: Array("see <i>this</i>: #4711#".utf8),
                of: mounts.path("alice/bob/<b>x & y.txt"))
        }
        let shown = try await desktop.waitForOne("the file") { _ in true }
        #expect(shown.summary == "alice sent a file" && shown.icon == "chatfs")
        #expect(shown.body == "&lt;b&gt;x &amp; y.txt\nsee &lt;i&gt;this&lt;/i&gt;: …")
        #expect(shown.buttons == ["Open", "Show in Folder"] && shown.replaces == 0)
        try await wait(until: "it is counted") { desktop.counts.last == 1 }
        // An opened file is not news.
        #expect(try mounts.read("bob/alice/<b>x & y.txt") == [1])
        try await wait(until: "it is counted no more") { desktop.counts.last == 0 }
        try await wait(until: "it is shown no more") { desktop.closed == [shown.number] }
        #expect(desktop.shown.count == 1)
        #expect(try await mounts.leave("bob") == .code(0))
    }

    @Test(
        "hundreds of arrivals share one notification")
    func burst() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        let begin = ContinuousClock.now
        for number in 0..<300 { try mounts.write([1], to: "alice/bob/\(number).txt") }
        try await desktop.waitForOne("all of them") { $0.summary == "alice sent 300 files" }
        let seconds = begin.duration(to: .now).components.seconds
        #expect(desktop.shown.count <= Int(seconds) + 2, "\(desktop.shown.count) in \(seconds) s")
        #expect(Set(desktop.shown.map(\.number)).count == 1)
        try await wait(until: "they are counted") { desktop.counts.last == 300 }
    }

    @Test("only the service's button approves a relay")
    func approval() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.run(["relay", "remove", mounts.relayAddress, "--profile", "bob"])
        try await Self.mountBob(mounts, desktop)
        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        let film = mounts.path("bob/alice/film.bin")
        #expect(try await Shell.run("cat", [film]).errors.contains("Permission denied"))
        let shown = try await desktop.waitForOne("the approval") { $0.button == "Approve Relay" }
        #expect(shown.body.hasPrefix("film.bin waits for your approval"))
        #expect(shown.body.contains(mounts.relayAddress) && shown.body.contains("inside your own network"))
        try await desktop.forgePress(shown)
        #expect(try await Shell.run("cat", [film]).errors.contains("Permission denied"))
        try desktop.press(shown)
        try await wait(until: "the file can be read") {
            try await Shell.run("cmp", [film, mounts.path("alice/bob/film.bin")]).succeeded
        }
        #expect(desktop.shown.count { $0.button == "Approve Relay" } == 1)
    }

    @Test("the failure's button sends the file again")
    func retry() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", ["--quiet-time", "3s"], environment: desktop.environment)
        try mounts.write([1, 2], to: "alice/bob/report.txt")
        try await mounts.run(["contact", "leave", "bob", "--profile", "alice"])
        try await mounts.waitForState("failed", of: "alice/bob/report.txt")
        let shown = try await desktop.waitForOne("the failure") { $0.button == "Try Again" }
        #expect(shown.summary == "bob" && shown.body.hasPrefix("report.txt could not be sent. "))
        #expect(shown.isClickable)
        try await mounts.run(["connect", "alice", "bob"])
        try desktop.press(shown)
        try await mounts.waitForFile("bob/alice/report.txt")
        #expect(desktop.shown.count { $0.button == "Try Again" } == 1)
    }

    @Test("a repeated refusal is explained once")
    func refused() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop, ["--folders", "refuse"])
        try await mounts.send([1], as: "a.txt")
        for _ in 0..<5 {
            #expect(errorCode { mkdir(mounts.path("bob/alice/holiday"), 0o700) } == EPERM)
            #expect(mkdir(mounts.path("bob/alice/.Trash-1000"), 0o700) == -1)
            #expect(rename(mounts.path("bob/alice/a.txt"), mounts.path("bob/alice/b.txt")) == -1)
            #expect(unlink(mounts.path("bob/alice/a.txt")) == -1)
            // As GIO opens a file to replace, and as a shell does.
            for flags in [O_WRONLY, O_WRONLY | O_TRUNC] {
                #expect(open(mounts.path("bob/alice/a.txt"), flags) == -1)
            }
            #expect(open(mounts.path("bob/alice/a.txt.part"), O_WRONLY | O_CREAT, 0o600) == -1)
            #expect(open(mounts.path("bob/file.txt"), O_WRONLY | O_CREAT, 0o600) == -1)
        }
        for words in [
            "A folder cannot be sent", "can be renamed", "stay in their chat",
            "cannot be changed or replaced", "cannot be replaced", "Only folders of chats send files",
        ] {
            try await desktop.waitForOne(words) { $0.body.contains(words) }
        }
        try await mounts.send([2], as: "last.txt")
        try await desktop.waitForOne("what comes afterwards") { $0.body.contains("last.txt") }
        let explained = desktop.shown.filter { $0.summary.contains("efused") }
        #expect(explained.count == 6, "\(explained)")
        #expect(explained.first?.summary == "Refused in alice")
    }

    @Test("a kill causes no repetition and no loss")
    func killed() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        for number in 0..<5 { try mounts.write([1], to: "alice/bob/old \(number).txt") }
        try await mounts.waitForState("sent", of: "alice/bob/old 4.txt")
        try await Self.mountBob(mounts, desktop)
        try mounts.write([1], to: "alice/bob/new.txt")
        try await desktop.waitForOne("the new one") { $0.body == "new.txt" }
        for round in 0..<3 {
            let daemon = try mounts.daemon("bob")
            daemon.send(SIGKILL)
            try await daemon.ending()
            try mounts.write([1], to: "alice/bob/meanwhile \(round).txt")
            try await mounts.waitForState("sent", of: "alice/bob/meanwhile \(round).txt")
            try await Self.mountBob(mounts, desktop)
            try await desktop.waitForOne("what came meanwhile") { $0.body == "meanwhile \(round).txt" }
        }
        let told = desktop.shown.filter { $0.summary != "ChatFS had stopped" }
        #expect(told.map(\.body) == ["new.txt"] + (0..<3).map { "meanwhile \($0).txt" })
        try await wait(until: "it is told once for each kill that it had stopped") {
            desktop.shown.count == told.count + 3
        }
    }

    @Test("kills during bursts cause no repetition")
    func killedWithin() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        for round in 0..<6 {
            for number in 0..<10 { try mounts.write([1], to: "alice/bob/file \(round)-\(number).txt") }
            // At different times.
            try await Task.sleep(for: .milliseconds(150 * round))
            let daemon = try mounts.daemon("bob")
            daemon.send(SIGKILL)
            try await daemon.ending()
            try await Self.mountBob(mounts, desktop)
        }
        try await mounts.waitForFiles(
            (0..<6).flatMap { round in (0..<10).map { "file \(round)-\($0).txt" } }, in: "bob/alice")
        try mounts.write([1], to: "alice/bob/end.txt")
        try await desktop.waitForOne("the last") { $0.body.contains("end.txt") }
        // The final text of each notification: together they count all files, or fewer.
        var last: [Int: Int] = [:]
        for shown in desktop.shown where shown.summary.hasPrefix("alice sent ") {
            last[shown.number] = Int(shown.summary.dropFirst(11).prefix { $0.isNumber }) ?? 1
        }
        #expect(last.values.reduce(0, +) <= 61, "\(desktop.shown)")
    }

    @Test(
        "without a bus notifications wait"
    )
    func noBus() async throws {
        let desktop = try NotificationDesktop()
        let mounts = try await Self.mounts(desktop)
        try mounts.write([1], to: "alice/bob/a.txt")
        try await mounts.waitForFile("bob/alice/a.txt")
        try await desktop.startBus()
        try await desktop.startService()
        // A new notification causes a try at once.
        try mounts.write([1], to: "alice/bob/b.txt")
        try await desktop.waitForOne("both") { $0.body == "b.txt, a.txt" }
        try await desktop.stopBus()
        try await desktop.stopService()
        try mounts.write([1], to: "alice/bob/c.txt")
        try await mounts.waitForFile("bob/alice/c.txt")
        try await desktop.startBus()
        try await desktop.startService()
        try await desktop.waitForOne("what came meanwhile") { $0.body.hasPrefix("c.txt") }
        #expect(try await mounts.leave("bob") == .code(0))
    }

    @Test("a late or restarted service receives waiting notifications")
    func lateService() async throws {
        let desktop = try await NotificationDesktop.start(nil)
        let mounts = try await Self.mounts(desktop)
        try mounts.write([1], to: "alice/bob/a.txt")
        try await mounts.waitForFile("bob/alice/a.txt")
        try await desktop.startService()
        try await desktop.waitForOne("the file") { $0.body == "a.txt" }
        try await desktop.stopService()
        try mounts.write([1], to: "alice/bob/b.txt")
        try await mounts.waitForFile("bob/alice/b.txt")
        try await desktop.startService(.plain)
        let shown = try await desktop.waitForOne("the next") { $0.body == "b.txt" }
        #expect(shown.replaces == 0)
        try mounts.write([1], to: "alice/bob/<c>.txt")
        try await desktop.waitForOne("a name as it is") { $0.body.contains("<c>.txt") }
    }

    @Test(
        "a faulty service delays nothing",
        arguments: [NotificationDesktop.Service.silent, .refusing, .wrong])
    func silent(kind: NotificationDesktop.Service) async throws {
        let desktop = try await NotificationDesktop.start(kind)
        let mounts = try await Self.mounts(desktop)
        for number in 0..<50 { try mounts.write([1], to: "alice/bob/\(number).txt") }
        try await desktop.waitForOne("one") { _ in true }
        try await mounts.waitForFiles((0..<50).map { "\($0).txt" }, in: "bob/alice")
        #expect(try mounts.read("bob/alice/49.txt") == [1])
        #expect(desktop.shown.count == 1)
        #expect(try await mounts.leave("bob") == .code(0))
    }

    @Test("a killed bus process is replaced")
    func process() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        let daemon = try mounts.daemon("bob")
        #expect(Self.children(of: daemon.processIdentifier).isEmpty)
        try mounts.write([1], to: "alice/bob/a.txt")
        try await desktop.waitForOne("the first") { $0.body == "a.txt" }
        let children = Self.children(of: daemon.processIdentifier)
        #expect(children.count == 1)
        for child in children { kill(child, SIGKILL) }
        try mounts.write([1], to: "alice/bob/b.txt")
        try await desktop.waitForOne("the second") { $0.body == "b.txt" }
        let next = try #require(Self.children(of: daemon.processIdentifier).first)
        // Only its own descriptors are open: two pipes, /dev/null and the bus.
        #expect(ProcessInformation.names(in: "/proc/\(next)/fd").count <= 5)
        daemon.send(SIGKILL)
        try await daemon.ending()
        try await wait(until: "it has ended") {
            RunningProgram.executable(of: next) == nil || kill(next, 0) != 0
        }
    }

    private static func children(of process: pid_t) -> [pid_t] {
        ProcessInformation.names(in: "/proc/\(process)/task").flatMap { thread -> [pid_t] in
            let bytes = ProcessInformation.bytes(of: "/proc/\(process)/task/\(thread)/children") ?? []
            return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
        }
    }

    @Test("previews, muting and 'off' limit the content")
    func discretion() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(
            desktop, ["--notification-previews", "hidden", "--folders", "refuse"])
        try mounts.write([1], to: "alice/bob/a.txt")
        #expect(try await desktop.waitForOne("one") { _ in true }.summary == "ChatFS")
        #expect(mkdir(mounts.path("bob/alice/secret"), 0o700) == -1)
        try await desktop.waitForOne("the refusal") { $0.body.contains("A folder cannot be sent") }
        #expect(!desktop.shown.contains { "\($0)".contains("alice") || "\($0)".contains("a.txt") })

        #expect(try await mounts.leave("bob") == .code(0))
        try await Self.mountBob(mounts, desktop, ["--notification-previews", "contact"])
        try mounts.write([1], to: "alice/bob/b.txt")
        let shown = try await desktop.waitForOne("one of alice") { $0.summary == "alice sent a file" }
        #expect(shown.body == "")

        try await mounts.run(["mute", "alice", "--profile", "bob"])
        #expect(try await mounts.run(["mute", "--profile", "bob"]).output == "alice\n")
        try mounts.write([1], to: "alice/bob/muted.txt")
        try await mounts.waitForFile("bob/alice/muted.txt")
        // Later events have been processed by then.
        #expect(mkdir(mounts.path("bob/folder"), 0o700) == -1)
        try await desktop.waitForOne("the refusal") { $0.body.contains("Folders here are chats") }
        let count = desktop.shown.count
        try await mounts.run(["unmute", "alice", "--profile", "bob"])
        #expect(try await mounts.run(["mute", "--profile", "bob"]).output == "")
        try mounts.write([1], to: "alice/bob/c.txt")
        try await wait(until: "it is told again") { desktop.shown.count > count }
        #expect(desktop.shown.last?.summary.hasPrefix("alice sent ") == true)

        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob", ["--notifications", "off"], environment: desktop.environment)
        try mounts.write([1], to: "alice/bob/off.txt")
        try await mounts.waitForFile("bob/alice/off.txt")
        #expect(try await mounts.leave("bob") == .code(0))
        let before = desktop.shown.count
        try await Self.mountBob(mounts, desktop)
        try mounts.write([1], to: "alice/bob/on.txt")
        try await desktop.waitForOne("what comes afterwards") { $0.body == "on.txt" }
        #expect(desktop.shown.count == before + 1)
    }

    @Test("chats shown by file managers are silent")
    func inFront() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        // Acts like a window, by a program of that name.
        let manager = mounts.path("nautilus")
        #expect(try await Shell.run("cp", ["/usr/bin/python3", manager]).succeeded)
        let watch = try await RunningProcess.start(
            ChildProcess.Settings(
                manager,
                [
                    "-c",
                    """
                    import ctypes, sys, time
                    libc = ctypes.CDLL(None)
                    watch = libc.inotify_init()
                    assert libc.inotify_add_watch(watch, sys.argv[1].encode(), 0x500) >= 0
                    print("watching", flush=True)
                    time.sleep(600)
                    """, mounts.path("bob/alice"),
                ]))
        try await watch.line("that it watches")
        let told = try Self.told(mounts)
        try mounts.write([1], to: "alice/bob/seen.txt")
        try await mounts.waitForFile("bob/alice/seen.txt")
        try await wait(until: "it counts as told") { try Self.told(mounts) != told }
        #expect(mkdir(mounts.path("bob/folder"), 0o700) == -1)
        try await desktop.waitForOne("the refusal") { $0.body.contains("Folders here are chats") }
        watch.send(SIGKILL)
        try await watch.ending()
        let other = try await FolderWatch.start(mounts.path("bob/alice"))
        try mounts.write([1], to: "alice/bob/unseen.txt")
        try await desktop.waitForOne("what comes when it is closed") { $0.body == "unseen.txt" }
        try await other.waitFor("CREATE unseen.txt")
        #expect(desktop.shown.count == 2, "\(desktop.shown)")
    }

    @Test("the count includes all mounts of the user")
    func counts() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice", ["--quiet-time", "0s"], environment: desktop.environment)
        try mounts.write([1], to: "alice/bob/a.txt")
        try mounts.write([1], to: "alice/bob/b.txt")
        try await wait(until: "bob's are counted") { desktop.counts.last == 2 }
        try mounts.write([1], to: "bob/alice/c.txt")
        try await wait(until: "alice's is too: \(desktop.counts)") { desktop.counts.suffix(2) == [3, 3] }
        #expect(try mounts.read("bob/alice/a.txt") == [1])
        try await wait(until: "one is opened") { desktop.counts.suffix(2) == [2, 2] }
        #expect(try await mounts.leave("bob") == .code(0))
        try await wait(until: "bob's have gone with his mount") { desktop.counts.last == 1 }
    }
}
