import Base
import Glibc

/// Where the two buses are, as D-Bus writes it; nil where there is none.
public enum BusAddress {
    /// As the session says, else where systemd has it.
    ///
    /// - Parameter runtimeFolder: `$XDG_RUNTIME_DIR`.
    public static func session(runtimeFolder: String?) -> String? {
        if let address = environment("DBUS_SESSION_BUS_ADDRESS") { return address }
        guard let runtimeFolder, runtimeFolder.isAbsolutePath else { return nil }
        return socket(runtimeFolder + "/bus")
    }

    /// `DBUS_SYSTEM_BUS_ADDRESS`, else where systems have it.
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
