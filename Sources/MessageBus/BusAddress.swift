import Base
import Glibc

/// The addresses of the session and system bus in D-Bus notation, or nil if there is none.
public enum BusAddress {
    /// The address in the environment, otherwise systemd's socket.
    ///
    /// - Parameter runtimeFolder: The value of `$XDG_RUNTIME_DIR`.
    public static func session(runtimeFolder: String?) -> String? {
        if let address = environment("DBUS_SESSION_BUS_ADDRESS") { return address }
        guard let runtimeFolder, runtimeFolder.isAbsolutePath else { return nil }
        return socket(runtimeFolder + "/bus")
    }

    /// `DBUS_SYSTEM_BUS_ADDRESS`, otherwise the standard socket.
    public static func system() -> String? {
        environment("DBUS_SYSTEM_BUS_ADDRESS") ?? socket("/run/dbus/system_bus_socket")
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func socket(_ path: String) -> String? {
        access(path, F_OK) == 0 ? "unix:path=\(path)" : nil
    }
}
