import Glibc
import Posix

/// A private system bus with scripted services in place of NetworkManager and logind.
public final class SystemServices {
    private let folder: TemporaryFolder
    private var bus: RunningProcess?
    private var services: RunningProcess?

    public var address: String { "unix:path=" + folder.path("bus") }

    public static func start(metered: Int) async throws -> SystemServices {
        let services = try SystemServices()
        try await services.startBus()
        try await services.startServices(metered: metered)
        return services
    }

    /// Without running programs.
    public init() throws { folder = try TemporaryFolder() }

    deinit {
        services?.send(SIGKILL)
        bus?.send(SIGKILL)
    }

    public func startBus() async throws {
        unlink(folder.path("bus"))
        let configuration = try folder.write(Array(Self.configuration.utf8), to: "bus.conf")
        let bus = try await RunningProcess.start(
            ChildProcess.Settings(
                try Shell.find("dbus-daemon"),
                [
                    "--config-file=\(configuration)", "--nofork", "--print-address",
                    "--address=\(address)",
                ]))
        try await bus.line("its address") { $0.hasPrefix("unix:path=") }
        self.bus = bus
    }

    /// Configured as a session's bus, but without this machine's services.
    private static let configuration = """
        <busconfig>
          <type>session</type>
          <listen>unix:tmpdir=/tmp</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
        </busconfig>
        """

    public func stopBus() async throws {
        bus?.send(SIGKILL)
        try await bus?.ending()
    }

    /// - Parameter metered: A value of NMMetered.
    public func startServices(metered: Int) async throws {
        // Debian's Python, which has the modules.
        var settings = ChildProcess.Settings("/usr/bin/python3", ["-c", Self.script, address, "\(metered)"])
        settings.input = .pipe
        let services = try await RunningProcess.start(settings)
        try await services.line("that they serve") { $0 == "serving" }
        self.services = services
    }

    public func stopServices() async throws {
        services?.send(SIGKILL)
        try await services?.ending()
    }

    public func say(_ words: String) throws {
        let line = Array((words + "\n").utf8)
        guard let input = services?.child.input, write(input.descriptor, line, line.count) == line.count
        else {
            throw SystemError(code: errno, operation: "tell the services")
        }
    }

    /// The received requests, one word each, in order.
    public var asked: [String] { services?.lines.filter { $0 != "serving" } ?? [] }

    /// `metered N`, `sleep`, `wake`, `leave NAME`, `refuse` (inhibitors), `lock` (the signal), `lock other` (that of another
    /// session), `hint` (LockedHint). Reports `get`, `inhibit`, `released`, `refusing` and `refused`.
    private static let script = """
        import dbus, dbus.service, dbus.bus, os, sys, threading
        from dbus.mainloop.glib import DBusGMainLoop
        from gi.repository import GLib
        DBusGMainLoop(set_as_default=True)
        bus = dbus.bus.BusConnection(sys.argv[1])
        names = {name: dbus.service.BusName(name, bus)
            for name in ("org.freedesktop.NetworkManager", "org.freedesktop.login1")}
        def say(words): print(words, flush=True)
        class Network(dbus.service.Object):
            value = int(sys.argv[2])
            @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
            def Get(self, interface, name):
                assert (interface, name) == ("org.freedesktop.NetworkManager", "Metered")
                say("get")
                return dbus.UInt32(self.value, variant_level=1)
            @dbus.service.signal("org.freedesktop.DBus.Properties", signature="sa{sv}as")
            def PropertiesChanged(self, interface, changed, invalidated): pass
        class Login(dbus.service.Object):
            refuses = is_locked = False
            @dbus.service.method("org.freedesktop.login1.Manager", in_signature="ssss", out_signature="h")
            def Inhibit(self, what, who, why, mode):
                assert (what, mode) == ("sleep", "delay"), (what, mode)
                if self.refuses:
                    say("refused")
                    raise dbus.exceptions.DBusException(name="org.freedesktop.DBus.Error.AccessDenied")
                kept, given = os.pipe()
                def released(*_):
                    say("released")
                    os.close(kept)
                    return False
                GLib.io_add_watch(kept, GLib.IO_HUP, released)
                descriptor = dbus.types.UnixFd(given)
                os.close(given)
                say("inhibit")
                return descriptor
            @dbus.service.signal("org.freedesktop.login1.Manager", signature="b")
            def PrepareForSleep(self, begins): pass
        class Session(dbus.service.Object):
            @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
            def Get(self, interface, name):
                assert interface == "org.freedesktop.login1.Session"
                if name == "Id": return dbus.String("1", variant_level=1)
                assert name == "LockedHint"
                return dbus.Boolean(login.is_locked, variant_level=1)
            @dbus.service.signal("org.freedesktop.DBus.Properties", signature="sa{sv}as")
            def PropertiesChanged(self, interface, changed, invalidated): pass
            @dbus.service.signal("org.freedesktop.login1.Session", signature="")
            def Lock(self): pass
        sessions = "/org/freedesktop/login1/session/"
        own, session, other = [Session(bus, sessions + name) for name in ("auto", "_31", "_32")]
        network = Network(bus, "/org/freedesktop/NetworkManager")
        login = Login(bus, "/org/freedesktop/login1")
        def obey(words):
            if words[0] == "metered":
                network.value = int(words[1])
                changed = {"Metered": dbus.UInt32(network.value)}
                network.PropertiesChanged("org.freedesktop.NetworkManager", changed, [])
            elif words[0] in ("sleep", "wake"): login.PrepareForSleep(words[0] == "sleep")
            elif words[0] == "leave": bus.release_name(words[1])
            elif words[0] == "refuse":
                login.refuses = True
                say("refusing")
            elif words[0] == "lock": (other if words[1:] else session).Lock()
            elif words[0] == "hint":
                login.is_locked = True
                changed = {"LockedHint": dbus.Boolean(True)}
                session.PropertiesChanged("org.freedesktop.login1.Session", changed, [])
        def take(*_):
            # Whole lines: the test writes each at once.
            lines = os.read(0, 65536).decode().splitlines()
            if not lines: os._exit(0)
            for line in lines: obey(line.split())
            return True
        GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, take)
        say("serving")
        GLib.MainLoop().run()
        """
}
