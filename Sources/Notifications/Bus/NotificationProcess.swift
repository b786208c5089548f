import MessageBus

/// The process that talks to the desktop. It runs this program, started by `Notifier`, and receives only texts meant
/// for display.
public enum NotificationProcess {
    /// First argument that selects this process.
    public static let word = "show-notifications"

    public static func main() -> Never {
        BusProcess.main(on: .session) { NotificationConversation(library: $0, connection: $1) }
    }
}

/// Passes requests of the daemon to the desktop's notification service. One thread.
struct NotificationConversation: BusConversation {
    let library: BusLibrary
    let connection: BusLibrary.Connection

    /// The subject of a pending method call.
    private enum Call {
        case capabilities
        case notify(token: UInt64)
        /// A call of `FileRevealing`; after a failure the next way is tried.
        case reveal([String], FileRevealing.Way)
    }

    private var calls: [UInt32: Call] = [:]
    /// Unique bus name of the notification service.
    private var service: String?
    /// Notification ids of the service by token.
    private var numbers: [UInt64: UInt32] = [:]
    /// Pictures of later notifications.
    private var pictures: [UInt64: IncomingPicture] = [:]
    /// The last activation token from the desktop, for a window that a click brings to the front.
    private var activation = ""

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let busName = "org.freedesktop.DBus"
    private static let launcher = "com.canonical.Unity.LauncherEntry"
    /// Action ids by number; the first is the click's (Desktop Notifications Specification).
    private static let actions = ["default", "act", "act-2", "act-3"]

    init(library: BusLibrary, connection: BusLibrary.Connection) {
        (self.library, self.connection) = (library, connection)
    }

    mutating func begin() {
        library.match("type='signal',sender='\(Self.name)',interface='\(Self.name)'", on: connection)
        library.match(
            "type='signal',sender='\(Self.busName)',member='NameOwnerChanged',arg0='\(Self.name)'",
            on: connection)
        askCapabilities()
    }

    // MARK: - Requests of the daemon

    mutating func take(_ request: [UInt8]) -> Bool {
        guard let request = BusRequest(encoded: request) else { return false }
        carryOut(request)
        return true
    }

    private mutating func carryOut(_ request: BusRequest) {
        switch request {
        case .show(let token, let text):
            var hints: [String: BusValue] = [
                "urgency": .byte(text.urgency.rawValue), "category": .text(text.category),
                "desktop-entry": .text("chatfs"),
            ]
            if let picture = pictures.removeValue(forKey: token)?.value { hints["image-data"] = picture }
            if text.isQuiet { hints["suppress-sound"] = .flag(true) }
            let actions =
                (text.isClickable ? [Self.actions[0], "Show"] : [])
                + zip(Self.actions.dropFirst(), text.buttons).flatMap { [$0, $1] }
            let serial = call(
                "Notify",
                [
                    .text("ChatFS"), .number(numbers[token] ?? 0), .text("chatfs"),
                    .text(text.summary),
                    .text(text.body), .texts(actions), .hints(hints), .integer(-1),
                ])
            if let serial { calls[serial] = .notify(token: token) } else { _ = say(.failed(token: token)) }
        case .close(let token):
            if let number = numbers.removeValue(forKey: token) {
                _ = call("CloseNotification", [.number(number)])
            }
        case .count(let count):
            let path = "/com/canonical/unity/launcherentry/chatfs"
            _ = library.send(
                library.signal(path, Self.launcher, "Update"),
                [
                    .text("application://chatfs.desktop"),
                    .hints(["count": .long(Int64(clamping: count)), "count-visible": .flag(count > 0)]),
                ], over: connection)
        case .picture(let token, let width, let height):
            pictures[token] = IncomingPicture(width: width, height: height)
        case .pixels(let token, let bytes): pictures[token]?.add(bytes)
        case .reveal(let paths, let opens):
            reveal(paths, opens && paths.count == 1 ? .opening : .selecting)
        }
    }

    private mutating func reveal(_ paths: [String], _ way: FileRevealing.Way) {
        let revealing = FileRevealing(library: library, connection: connection, activation: activation)
        if let serial = revealing.ask(paths, way) {
            calls[serial] = .reveal(paths, way)
        } else if let next = way.next {
            reveal(paths, next)
        } else {
            _ = say(.notShown)
        }
    }

    private func call(_ method: String, _ arguments: [BusValue]) -> UInt32? {
        library.send(
            library.call(Self.name, Self.path, Self.name, method), arguments, over: connection)
    }

    private mutating func askCapabilities() {
        if let serial = call("GetCapabilities", []) { calls[serial] = .capabilities }
    }

    // MARK: - Messages from the bus

    mutating func hear(_ message: BusLibrary.Message) -> Bool {
        if let reply = library.reply(message) { return hear(reply.serial, reply.isError, message) }
        if library.isSignal(message, Self.busName, "NameOwnerChanged"),
            library.sender(message) == Self.busName
        {
            return serviceChanged(library.arguments(of: message))
        }
        // Other senders could forge an action for a known notification id.
        guard let service, library.sender(message) == service else { return true }
        let arguments = library.arguments(of: message)
        guard case .number(let number)? = arguments.first,
            let token = numbers.first(where: { $0.value == number })?.key
        else { return true }
        if library.isSignal(message, Self.name, "NotificationClosed") {
            numbers[token] = nil
            return say(.closed(token: token))
        }
        guard case .text(let word)? = arguments.dropFirst().first else { return true }
        if library.isSignal(message, Self.name, "ActivationToken") { activation = word }
        if library.isSignal(message, Self.name, "ActionInvoked"),
            let number = Self.actions.firstIndex(of: word)
        {
            return say(.acted(token: token, number))
        }
        return true
    }

    private mutating func hear(_ serial: UInt32, _ isError: Bool, _ message: BusLibrary.Message) -> Bool {
        switch calls.removeValue(forKey: serial) {
        case nil: return true
        case .capabilities:
            guard !isError, case .texts(let capabilities)? = library.arguments(of: message).first else {
                return say(.noService)
            }
            service = library.sender(message)
            // Other capabilities are not used.
            return say(.ready(capabilities: ["actions", "body-markup"].filter(capabilities.contains)))
        case .notify(let token):
            guard !isError, case .number(let number)? = library.arguments(of: message).first else {
                return say(.failed(token: token))
            }
            numbers[token] = number
            return say(.shown(token: token))
        case .reveal(let paths, let way):
            guard isError else { return true }
            guard let next = way.next else { return say(.notShown) }
            reveal(paths, next)
            return true
        }
    }

    /// - Parameter arguments: Name, old owner and new owner.
    private mutating func serviceChanged(_ arguments: [BusValue]) -> Bool {
        guard arguments.count == 3, arguments[0] == .text(Self.name), case .text(let owner) = arguments[2]
        else { return true }
        // The service was started by our call and is about to answer it.
        if service == nil, !owner.isEmpty,
            calls.values.contains(where: { if case .capabilities = $0 { true } else { false } })
        {
            return true
        }
        numbers = [:]
        calls = calls.filter { if case .reveal = $0.value { true } else { false } }
        service = nil
        guard owner.isEmpty else {
            askCapabilities()
            return true
        }
        return say(.noService)
    }

    private func say(_ answer: NotificationAnswer) -> Bool {
        BusProcess.say(answer.encoded)
    }
}
