import Glibc
import Posix
import TestSupport

/// A test desktop for notifications: its own bus and a service that logs its requests.
final class NotificationDesktop {
    /// One request to show a notification.
    struct Shown: Equatable {
        var number: Int
        /// Zero for none.
        var replaces: Int
        var summary: String
        var body: String
        /// The first button; empty for none.
        var button: String { buttons.first ?? "" }
        var buttons: [String]
        /// A click has an action of its own.
        var isClickable: Bool
        var icon: String
        /// Width, height and mean of the bytes; empty for none.
        var picture: String
    }

    /// The behaviour of the service.
    enum Service: String {
        case answering, plain, silent, refusing
        /// A file manager and a portal, without notifications, which another program shows.
        case programs
        /// A file manager without a portal.
        case withoutPortal = "without-portal"
        /// Invalid replies.
        case wrong
    }

    private let folder: TemporaryFolder
    private var bus: RunningProcess?
    private(set) var service: RunningProcess?

    var address: String { "unix:path=" + folder.path("bus") }
    /// For a mount on this desktop.
    var environment: [String: String?] {
        ["DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": folder.path]
    }

    static func start(_ service: Service? = .answering) async throws -> NotificationDesktop {
        let desktop = try NotificationDesktop()
        try await desktop.startBus()
        if let service { try await desktop.startService(service) }
        return desktop
    }

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(Array(Self.configuration(folder.path("bus")).utf8), to: "bus.conf")
    }

    deinit {
        service?.send(SIGKILL)
        bus?.send(SIGKILL)
    }

    func startBus() async throws {
        unlink(folder.path("bus"))
        let bus = try await RunningProcess.start(
            ChildProcess.Settings(
                Shell.find("dbus-daemon"),
                ["--config-file", folder.path("bus.conf"), "--nofork", "--nopidfile", "--print-address=1"]))
        try await bus.line("its address")
        self.bus = bus
    }

    func stopBus() async throws {
        bus?.send(SIGKILL)
        try await bus?.ending()
    }

    func startService(_ kind: Service = .answering) async throws {
        // Debian's Python, which has the modules.
        var settings = ChildProcess.Settings("/usr/bin/python3", ["-c", Self.script, kind.rawValue])
        settings.environment = environment
        settings.input = .pipe
        let service = try await RunningProcess.start(settings)
        try await service.line("that it serves") { $0 == "serving" }
        self.service = service
    }

    func stopService() async throws {
        service?.send(SIGKILL)
        try await service?.ending()
    }

    // MARK: - Shown notifications

    var shown: [Shown] {
        (service?.lines ?? []).compactMap { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 9, fields[0] == "notify", let number = Int(fields[1]),
                let replaces = Int(fields[2])
            else { return nil }
            return Shown(
                number: number, replaces: replaces, summary: fields[3],
                body: fields[4].replacing("\\n", with: "\n"),
                buttons: fields[5].split(separator: "|").map(String.init), isClickable: fields[6] == "click",
                icon: fields[7], picture: fields[8])
        }
    }

    /// Counts for the launcher, in order.
    var counts: [Int] {
        (service?.lines ?? []).compactMap { $0.hasPrefix("count\t") ? Int($0.dropFirst(6)) : nil }
    }

    var closed: [Int] {
        (service?.lines ?? []).compactMap { $0.hasPrefix("close\t") ? Int($0.dropFirst(6)) : nil }
    }

    @discardableResult
    func waitForOne(
        _ what: String, within limit: Duration = .seconds(60), where fits: (Shown) -> Bool
    ) async throws -> Shown {
        do {
            return try await wait(for: "a notification of \(what)", within: limit) {
                shown.first(where: fits)
            }
        } catch {
            throw WaitedInVain("\(error); shown were \(shown); \(service?.errors ?? "")")
        }
    }

    /// Requests to desktop programs: `select URI…` or `open PATH`.
    var revealed: [String] {
        (service?.lines ?? []).filter { $0.hasPrefix("select\t") || $0.hasPrefix("open\t") }.map {
            $0.replacing("\t", with: " ")
        }
    }

    /// - Parameter number: Number of the button, from 1; 0 clicks the notification.
    func press(_ shown: Shown, _ number: Int = 1) throws {
        let key = number == 0 ? "default" : number == 1 ? "act" : "act-\(number)"
        try say("press \(shown.number) \(key)")
    }
    func dismiss(_ shown: Shown) throws { try say("dismiss \(shown.number) -") }
    /// Sends the button's signal from another program.
    func forgePress(_ shown: Shown) async throws {
        let outcome = try await Shell.run(
            "dbus-send",
            [
                "--session", "--type=signal", "/org/freedesktop/Notifications",
                "org.freedesktop.Notifications.ActionInvoked", "uint32:\(shown.number)", "string:act",
            ], environment: environment)
        guard outcome.succeeded else { throw WaitedInVain(outcome.errors) }
    }

    private func say(_ line: String) throws {
        try service?.child.input?.send(Array((line + "\n").utf8))
    }

    private static func configuration(_ path: String) -> String {
        """
        <busconfig><type>session</type><listen>unix:path=\(path)</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
        </busconfig>
        """
    }

    private static let script = #"""
        import os, sys
        import dbus, dbus.service, dbus.mainloop.glib
        from gi.repository import GLib

        kind = sys.argv[1]
        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.SessionBus()
        name = "org.freedesktop.Notifications"

        def say(*fields):
            print(*[str(field).replace("\t", " ").replace("\n", "\\n") for field in fields], sep="\t", flush=True)

        class Service(dbus.service.Object):
            last = 0

            @dbus.service.method(name, in_signature="susssasa{sv}i", 
                                 out_signature=None if kind == "wrong" else "u", async_callbacks=("answer", "fail"), sender_keyword="sender")
            def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout, answer, fail, sender=None):
                number = int(replaces)
                if not number:
                    Service.last += 1
                    number = Service.last
                pairs = list(zip(actions[::2], actions[1::2]))
                picture = ""
                if "image-data" in hints:
                    width, height, stride, alpha, bits, channels, data = hints["image-data"]
                    assert (stride, alpha, bits, channels) == (3 * width, False, 8, 3) and len(data) == stride * height
                    picture = "%dx%d %d" % (width, height, sum(int(b) for b in data) // len(data))
                say("notify", number, int(replaces), summary, body, "|".join(t for k, t in pairs if k != "default"),
                    "click" if any(k == "default" for k, t in pairs) else "", icon, picture)
                if kind == "silent": return
                if kind == "refusing": return fail(dbus.DBusException("no", name=name + ".Excess"))
                answer("wrong" if kind == "wrong" else dbus.UInt32(number))

            @dbus.service.method(name, out_signature="as")
            def GetCapabilities(self):
                return dbus.Array([] if kind == "plain" else ["actions", "body", "body-markup"], signature="s")

            @dbus.service.method(name, in_signature="u")
            def CloseNotification(self, number):
                say("close", int(number))
                self.NotificationClosed(number, 3)

            @dbus.service.signal(name, signature="uu")
            def NotificationClosed(self, number, reason): pass

            @dbus.service.signal(name, signature="us")
            def ActionInvoked(self, number, key): pass

        def launcher(uri, properties):
            say("count", int(properties["count"]) if properties["count-visible"] else 0)

        bus.add_signal_receiver(launcher, "Update", "com.canonical.Unity.LauncherEntry")
        if kind != "programs":
            service = Service(bus, "/org/freedesktop/Notifications")
            owned = dbus.service.BusName(name, bus)

        class FileManager(dbus.service.Object):
            @dbus.service.method("org.freedesktop.FileManager1", in_signature="ass")
            def ShowItems(self, uris, startup): say("select", *uris)

        class Portal(dbus.service.Object):
            @dbus.service.method("org.freedesktop.portal.OpenURI", in_signature="sha{sv}", out_signature="o")
            def OpenFile(self, window, fd, options):
                descriptor = fd.take()
                say("open", os.readlink("/proc/self/fd/%d" % descriptor))
                os.close(descriptor)
                return "/org/freedesktop/portal/desktop/request/1"

        if kind != "plain":
            manager = FileManager(bus, "/org/freedesktop/FileManager1")
            managed = dbus.service.BusName("org.freedesktop.FileManager1", bus)
        if kind in ("answering", "programs"):
            portal = Portal(bus, "/org/freedesktop/portal/desktop")
            portalled = dbus.service.BusName("org.freedesktop.portal.Desktop", bus)

        def command(source, condition):
            line = sys.stdin.readline()
            if not line: os._exit(0)
            word, number, key = line.split()
            if word == "press": service.ActionInvoked(dbus.UInt32(number), key)
            service.NotificationClosed(dbus.UInt32(number), dbus.UInt32(2))
            return True

        GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, command)
        print("serving", flush=True)
        GLib.MainLoop().run()
        """#
}
