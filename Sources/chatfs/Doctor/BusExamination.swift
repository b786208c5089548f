import Glibc
import MessageBus

/// Checks the message buses for notifications, and for sleep and network events.
enum BusExamination {
    /// Blocks for a moment.
    static func findings() -> [Finding] {
        findings(
            hasLibrary: BusLibrary() != nil,
            session: BusAddress.session(
                runtimeFolder: getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }),
            system: BusAddress.system())
    }

    /// - Parameters:
    ///   - session: Address of the session bus; nil if there is none.
    ///   - system: Address of the system bus; nil if there is none.
    static func findings(hasLibrary: Bool, session: String?, system: String?) -> [Finding] {
        guard hasLibrary else {
            return [
                .note(
                    "no desktop notifications, and sleep and metered connections are not detected: install the "
                        + "package libdbus-1-3")
            ]
        }
        return [
            session == nil
                ? .note("no desktop notifications: this session has no message bus (D-Bus)")
                : .good("notifications go to the message bus of this session"),
            system == nil
                ? .note(
                    "sleep and metered connections are not detected: there is no system message bus (D-Bus)"
                )
                : .good("the system message bus reports sleep and metered connections"),
        ]
    }
}
