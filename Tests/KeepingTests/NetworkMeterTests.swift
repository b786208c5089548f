import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Keeping

@Suite("What the connection costs", .serialized)
struct NetworkMeterTests {
    /// A bus with a NetworkManager behind it, as far as this conversation goes: every line of its input is a new value
    /// of `Metered`, `gone` ends it. It says what it was asked.
    private static let bus = """
        import os, socket, struct, sys, threading
        value = int(sys.argv[2])
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1])
        listener.listen(1)
        print("listening", flush=True)
        connection, _ = listener.accept()
        stream = connection.makefile("rwb", buffering=0)
        def line():
            text = b""
            while not text.endswith(b"\\r\\n"): text += stream.read(1)
            return text
        assert stream.read(1) == b"\\0"
        words = line().split()
        assert words[:2] == [b"AUTH", b"EXTERNAL"] and bytes.fromhex(words[2].decode()).decode() == str(os.geteuid())
        stream.write(b"OK 0123456789abcdef0123456789abcdef\\r\\n")
        assert line() == b"BEGIN\\r\\n"
        def padded(data): return data + b"\\0" * (-len(data) % 8)
        def message(kind, fields, body):
            head = struct.pack("<BBBBIII", ord("l"), kind, 1, 1, len(body), 5, len(fields))
            return padded(head + fields) + body
        def reply(serial):
            fields = b"\\5\\1u\\0" + struct.pack("<I", serial) + b"\\x08\\1g\\0\\1v\\0"
            return message(2, fields, b"\\1u\\0\\0" + struct.pack("<I", value))
        def text(code, kind, words):
            data = words.encode()
            return bytes([code, 1]) + kind + b"\\0" + struct.pack("<I", len(data)) + data + b"\\0"
        def signal():
            fields = (padded(text(1, b"o", "/org/freedesktop/NetworkManager"))
                + padded(text(2, b"s", "org.freedesktop.DBus.Properties")) + text(3, b"s", "PropertiesChanged"))
            return message(4, fields, b"")
        def change():
            global value
            for words in sys.stdin:
                if words.strip() == "gone": os._exit(0)
                value = int(words)
                stream.write(signal())
        threading.Thread(target=change, daemon=True).start()
        def exactly(count):
            data = b""
            while len(data) < count:
                part = stream.read(count - len(data))
                if not part: os._exit(0)
                data += part
            return data
        while True:
            head = exactly(16)
            order, kind, flags, version, body, serial, fields = struct.unpack("<BBBBIII", head)
            rest = exactly(-(-(16 + fields) // 8) * 8 - 16 + body)
            name = [n for n in (b"Hello", b"AddMatch", b"Get") if b"\\0" + n + b"\\0" in rest]
            print(name[0].decode(), flush=True)
            if name == [b"Get"]:
                assert b"Metered" in rest
                stream.write(reply(serial)[:9])
                stream.write(reply(serial)[9:])
        """

    private func start(_ value: Int, at path: String) async throws -> RunningProcess {
        var settings = ChildProcess.Settings(try Shell.find("python3"), ["-c", Self.bus, path, "\(value)"])
        settings.input = .pipe
        let bus = try await RunningProcess.start(settings)
        try await bus.line("that it listens") { $0 == "listening" }
        return bus
    }

    private func say(_ words: String, to bus: RunningProcess) {
        let line = Array((words + "\n").utf8)
        #expect(write(bus.child.input?.descriptor ?? -1, line, line.count) == line.count)
    }

    @Test("it is asked, and followed when it changes, until the bus is gone")
    func follows() async throws {
        let folder = try TemporaryFolder()
        let bus = try await start(1, at: folder.path("bus"))
        let changes = Lock(0)
        let meter = try NetworkMeter(path: folder.path("bus")) { changes.withLock { $0 += 1 } }
        await ThreadPool.shared.run { meter.start() }
        #expect(meter.isMetered)
        for (value, isMetered) in [(4, false), (3, true), (2, false), (1, true)] {
            say("\(value)", to: bus)
            try await wait(until: "it knows") { meter.isMetered == isMetered }
        }
        #expect(changes.withLock { $0 } == 5)
        say("gone", to: bus)
        try await wait(until: "nobody says so any more") { !meter.isMetered }
        #expect(bus.lines.filter { $0 == "AddMatch" }.count == 2)
        // And another bus is found when it is looked for.
        unlink(folder.path("bus"))
        let next = try await start(3, at: folder.path("bus"))
        try await wait(until: "it is asked again") {
            await ThreadPool.shared.run { meter.start() }
            return meter.isMetered
        }
        meter.stop()
        say("gone", to: next)
        try await next.ending()
    }

    @Test("without a bus, and with one that makes no sense, nothing is metered")
    func absent() async throws {
        let folder = try TemporaryFolder()
        let meter = try NetworkMeter(path: folder.path("none")) { Issue.record("nothing has changed") }
        await ThreadPool.shared.run { meter.start() }
        #expect(!meter.isMetered)
        let long = try NetworkMeter(path: String(repeating: "x", count: 500)) {}
        await ThreadPool.shared.run { long.start() }
        #expect(!long.isMetered)
        let script =
            "import socket,sys; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(1); "
            + "print('listening', flush=True); c,_=s.accept(); c.sendall(b'what is this?' * 1000); c.recv(100)"
        let bus = try await RunningProcess.start(
            ChildProcess.Settings(try Shell.find("python3"), ["-c", script, folder.path("odd")]))
        try await bus.line("that it listens") { $0 == "listening" }
        let odd = try NetworkMeter(path: folder.path("odd")) { Issue.record("nothing has changed") }
        await ThreadPool.shared.run { odd.start() }
        #expect(!odd.isMetered)
        try await bus.ending()
    }

    @Test(
        "a real bus lets it in, and has no NetworkManager",
        .enabled(if: (try? Shell.find("dbus-daemon")) != nil))
    func real() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bus")
        let bus = try await RunningProcess.start(
            ChildProcess.Settings(
                try Shell.find("dbus-daemon"),
                ["--session", "--nofork", "--print-address", "--address=unix:path=\(path)"]))
        try await bus.line("its address") { $0.hasPrefix("unix:path=") }
        let connection = try await ThreadPool.shared.run { try BusConnection(path) }
        try connection.call(
            "GetNameOwner", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus",
            destination: "org.freedesktop.DBus", ["org.freedesktop.NetworkManager"], isAwaited: true)
        try await wait(until: "it answers") {
            for message in try connection.receive() where connection.takeAwaited(message) {
                #expect(message.kind == .error)
            }
            return !connection.isAwaiting
        }
        let meter = try NetworkMeter(path: path) { Issue.record("nothing has changed") }
        await ThreadPool.shared.run { meter.start() }
        #expect(!meter.isMetered)
        meter.stop()
        bus.send(SIGTERM)
        try await bus.ending()
    }

    @Test("the address of the bus is taken from the environment, where that names a path")
    func address() {
        setenv("DBUS_SYSTEM_BUS_ADDRESS", "tcp:host=x;unix:path=/tmp/a bus,guid=1", 1)
        #expect(NetworkMeter.usualPath() == "/tmp/a bus")
        unsetenv("DBUS_SYSTEM_BUS_ADDRESS")
        #expect(NetworkMeter.usualPath() == "/run/dbus/system_bus_socket")
    }
}
