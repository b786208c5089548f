import Glibc
import Posix
import TestSupport
import Testing

@Suite("Notifications of people and their actions", .serialized)
struct NotifiedPeopleTests {
    private static func mounts(
        _ desktop: NotificationDesktop, _ more: [String] = []
    ) async throws -> TwoMounts {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mountBob(mounts, desktop, more)
        return mounts
    }

    private static func mountBob(
        _ mounts: TwoMounts, _ desktop: NotificationDesktop, _ more: [String] = []
    ) async throws {
        try await mounts.mount("bob", more, environment: desktop.environment)
        let folders = try mounts.folder.names(in: "data/profiles")
        try await wait(until: "the mount knows what was told") {
            folders.contains { access(mounts.path("data/profiles/\($0)/notifications"), F_OK) == 0 }
        }
    }

    private static func chats(_ mounts: TwoMounts) async throws -> String {
        try await ChatFSProcess.run(["chats", mounts.path("bob"), "--json"]).output
    }

    @Test("a text counts until it is read")
    func texts() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        try await mounts.run(["send", "bob", "--text", "My code is #4711#.", "--profile", "alice"])
        let shown = try await desktop.waitForOne("the text") { $0.summary == "alice wrote" }
        #expect(shown.body == "My code is …." && shown.buttons == ["Mark as Read"])
        try await wait(until: "it is counted") { desktop.counts.last == 1 }
        #expect(try await Self.chats(mounts).contains(#""unread":1"#))
        try desktop.press(shown)
        try await wait(until: "it is read") { desktop.counts.last == 0 }
        #expect(try await !Self.chats(mounts).contains("unread"))
        try await mounts.run(["send", "bob", "--text", "Another", "--profile", "alice"])
        try await desktop.waitForOne("the next") { $0.body == "Another" }
        try await wait(until: "it is counted") { desktop.counts.last == 1 }
        let read = try await ChatFSProcess.run(["read", "--mount", mounts.path("bob"), "alice"])
        #expect(read.succeeded, "\(read.errors)")
        try await wait(until: "the command lowers it") { desktop.counts.last == 0 }
        #expect(desktop.shown.count == 2)
    }

    @Test("a silenced subject is hidden but counted")
    func silenced() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop, ["--silence", "texts"])
        try await mounts.run(["send", "bob", "--text", "Psst", "--profile", "alice"])
        try await wait(until: "it is counted") { desktop.counts.last == 1 }
        try mounts.write([1], to: "alice/bob/a.txt")
        try await desktop.waitForOne("the file") { $0.body == "a.txt" }
        #expect(desktop.shown.count == 1)
    }

    @Test("clicking a new contact opens its folder")
    func contact() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        try await mounts.run(["profile", "create", "eve"])
        try await mounts.run(["connect", "bob", "eve"])
        let shown = try await desktop.waitForOne("the contact") { $0.summary == "eve is connected" }
        try desktop.press(shown, 0)
        try await wait(until: "a window shows it: \(desktop.revealed)") {
            desktop.revealed == ["select file://\(mounts.path("bob"))/eve"]
        }
    }

    @Test("one look clears a folder's unread count")
    func looking() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        try mounts.write([1], to: "alice/bob/a.txt")
        try await wait(until: "it is counted") { desktop.counts.last == 1 }
        // A listing like that of `ls`.
        #expect(try mounts.folder.names(in: "bob/alice") == ["a.txt"])
        try mounts.write([1], to: "alice/bob/b.txt")
        try await wait(until: "nobody has looked") { desktop.counts.last == 2 }
        // Acts like a window, by a program of that name.
        let manager = mounts.path("nautilus")
        #expect(try await Shell.run("cp", ["/usr/bin/python3", manager]).succeeded)
        let window = try await RunningProcess.start(
            ChildProcess.Settings(
                manager,
                [
                    "-c",
                    """
                    import ctypes, os, sys, time
                    libc = ctypes.CDLL(None)
                    assert libc.inotify_add_watch(libc.inotify_init(), sys.argv[1].encode(), 0x500) >= 0
                    os.listdir(sys.argv[1])
                    print("shown", flush=True)
                    time.sleep(600)
                    """, mounts.path("bob/alice"),
                ]))
        defer { window.send(SIGKILL) }
        try await window.line("that it shows the folder")
        try await wait(until: "nothing is unread") { desktop.counts.last == 0 }
    }

    @Test("clicks and buttons work with and without portal")
    func revealing() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        try mounts.write([1], to: "alice/bob/a b.txt")
        var shown = try await desktop.waitForOne("the first") { $0.body == "a b.txt" }
        let path = mounts.path("bob/alice/")
        try desktop.press(shown, 0)
        try await wait(until: "it is selected") { desktop.revealed == ["select file://\(path)a%20b.txt"] }
        try mounts.write([1], to: "alice/bob/c.txt")
        shown = try await desktop.waitForOne("the second") { $0.body == "c.txt" }
        try desktop.press(shown, 1)
        try await wait(until: "it is opened") { desktop.revealed.last == "open \(path)c.txt" }
        try mounts.write([1], to: "alice/bob/d.txt")
        shown = try await desktop.waitForOne("the third") { $0.body == "d.txt" }
        try desktop.press(shown, 2)
        try await wait(until: "it is selected") { desktop.revealed.last == "select file://\(path)d.txt" }

        try await desktop.stopService()
        try await desktop.startService(.withoutPortal)
        try mounts.write([1], to: "alice/bob/e.txt")
        shown = try await desktop.waitForOne("one without a portal") { $0.body == "e.txt" }
        try desktop.press(shown, 1)
        try await wait(until: "the file manager shows it") {
            desktop.revealed == ["select file://\(path)e.txt"]
        }
    }

    @Test("a picture's notification has verb, preview and icon")
    func picture() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        let made = mounts.path("white.jpg")
        let drawing = ["-v", "error", "-f", "lavfi", "-i", "color=white:s=640x320", "-frames:v", "1", made]
        #expect(try await Shell.run("ffmpeg", drawing).succeeded)
        #expect(try await Shell.run("cp", [made, mounts.path("alice/bob/IMG_2036.jpg")]).succeeded)
        let shown = try await desktop.waitForOne("the picture") { $0.summary == "alice sent a picture" }
        #expect(shown.body == "IMG_2036.jpg" && shown.icon == "chatfs")
        #expect(shown.picture.hasPrefix("96x48 25"), "white: \(shown.picture)")
        try desktop.press(shown, 0)
        try await wait(until: "a click opens it") {
            desktop.revealed == ["open \(mounts.path("bob/alice/IMG_2036.jpg"))"]
        }
    }

    @Test("notifications use entry names and shrink on deletion")
    func names() async throws {
        let desktop = try await NotificationDesktop.start()
        let mounts = try await Self.mounts(desktop)
        for _ in 0..<2 {
            let path = mounts.path("a.txt")
            #expect(try await Shell.run("sh", ["-c", "date +%N >'\(path)'"]).succeeded)
            try await mounts.run(["send", path, "bob", "--profile", "alice"])
        }
        let names = try await wait(for: "both files") {
            let names = try mounts.folder.names(in: "bob/alice")
            return names.count == 2 ? Set(names) : nil
        }
        try await desktop.waitForOne("both by their names: \(names)") {
            Set($0.body.replacing(", ", with: "|").split(separator: "|").map(String.init)) == names
        }
    }
}
