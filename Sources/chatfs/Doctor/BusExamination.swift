import Glibc
import MessageBus

/// Whether users can be told something, and the system heard.
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
    ///   - session: the address of the bus of the session; nil where there is none.
    ///   - system: of that of the system.
    static func findings(hasLibrary: Bool, session: String?, system: String?) -> [Finding] {
        guard hasLibrary else {
            return [
                .note(
                    "nothing is told on the desktop, and sleep and metered connections go unnoticed: install the "
                        + "package libdbus-1-3")
            ]
        }
        return [
            session == nil
                ? .note("nothing is told on the desktop: this session has no message bus (D-Bus)")
                : .good("notifications go to the message bus of this session"),
            system == nil
                ? .note(
                    "sleep and metered connections go unnoticed: there is no message bus of the system (D-Bus)"
                )
                : .good("the message bus of the system says when the machine sleeps"),
        ]
    }
}
