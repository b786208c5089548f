import Base
import Glibc
import Posix

/// Whether the connection to the network is paid for by what goes over it, as NetworkManager says: its property
/// `Metered`, over the system bus. Where there is no bus or no NetworkManager nobody knows, and it counts as not.
///
/// One thread, from `start` on, which sleeps until something changes. Any thread may ask.
public final class NetworkMeter: Sendable {
    private struct State {
        var isMetered = false
        var isRunning = false
    }

    private static let service = "org.freedesktop.NetworkManager"
    private static let place = "/org/freedesktop/NetworkManager"
    /// NM_METERED_YES and NM_METERED_GUESS_YES.
    private static let metered: Set<UInt32> = [1, 3]

    private let path: String
    private let changed: @Sendable () -> Void
    private let state = Lock(State())
    private let end: WakeUp

    /// - Parameters:
    ///   - path: of the bus's socket.
    ///   - changed: called on the thread when `isMetered` is another, so it must not wait.
    public init(
        path: String = NetworkMeter.usualPath(), changed: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.path = path
        self.changed = changed
        end = try WakeUp()
    }

    /// Of `DBUS_SYSTEM_BUS_ADDRESS`, where that names a path, else where systems have it.
    public static func usualPath() -> String {
        let address = getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) } ?? ""
        let path = address.split(separator: ";").lazy.compactMap { place -> Substring? in
            guard place.hasPrefix("unix:path=") else { return nil }
            return place.dropFirst("unix:path=".count).prefix { $0 != "," }
        }.first
        return path.map(String.init) ?? "/run/dbus/system_bus_socket"
    }

    public var isMetered: Bool { state.withLock { $0.isMetered } }

    /// Asks from now on, unless it does already. Where there is no bus nothing happens, and it may be tried again.
    /// Returns when the first answer is there, or after a second. Blocks.
    public func start() {
        let begins = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard begins else { return }
        let connection: BusConnection
        do {
            connection = try BusConnection(path)
            try ask(connection)
            try answer(connection, within: .seconds(1))
            try Thread.begin("network-meter") { [weak self] in Self.listen(connection, { self }) }
        } catch {
            Log("keep").debug("nobody says what the connection costs: \(sentence(of: error))")
            state.withLock { $0 = State() }
        }
    }

    /// The thread ends.
    public func stop() { end.ring() }

    deinit { end.ring() }

    // MARK: - The conversation

    private func ask(_ connection: BusConnection) throws {
        for rule in [
            "type='signal',path='\(Self.place)',interface='org.freedesktop.DBus.Properties'",
            "type='signal',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'",
        ] {
            try connection.call(
                "AddMatch", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus",
                destination: "org.freedesktop.DBus", [rule])
        }
        try askAgain(connection)
    }

    private func askAgain(_ connection: BusConnection) throws {
        try connection.call(
            "Get", of: "org.freedesktop.DBus.Properties", at: Self.place, destination: Self.service,
            [Self.service, "Metered"], isAwaited: true)
    }

    private func answer(_ connection: BusConnection, within limit: Duration) throws {
        let deadline = ContinuousClock.now + limit
        while connection.isAwaiting, ContinuousClock.now < deadline {
            var requests = [pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)]
            poll(&requests, milliseconds: 50)
            for message in try connection.receive() where take(message, connection) {
                try askAgain(connection)
            }
        }
    }

    /// - Parameter meter: nil when nobody has it any more.
    private static func listen(_ connection: BusConnection, _ meter: () -> NetworkMeter?) {
        guard let descriptor = meter()?.end.descriptor else { return }
        while true {
            var requests = [
                pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            ]
            poll(&requests, milliseconds: -1)
            guard requests[1].revents == 0, let meter = meter() else { return }
            do {
                for message in try connection.receive() where meter.take(message, connection) {
                    try meter.askAgain(connection)
                }
            } catch {
                Log("keep").debug("the system bus is gone: \(sentence(of: error))")
                meter.take(isMetered: false)
                meter.state.withLock { $0.isRunning = false }
                return
            }
        }
    }

    /// True when it has to be asked again.
    private func take(_ message: BusMessage, _ connection: BusConnection) -> Bool {
        switch message.kind {
        case .signal: return message.member == "PropertiesChanged" || message.member == "NameOwnerChanged"
        case .reply, .error:
            if connection.takeAwaited(message) {
                take(isMetered: message.kind == .reply && Self.metered.contains(message.number ?? 0))
            }
            return false
        case .call: return false
        }
    }

    private func take(isMetered: Bool) {
        let isNew = state.withLock { state in
            defer { state.isMetered = isMetered }
            return state.isMetered != isMetered
        }
        if isNew { changed() }
    }
}
