import Base
import Glibc
import Posix

/// The child process on the system bus, started by `SystemWatch`.
public enum SystemBusProcess {
    /// The first argument that makes `chatfs` this process.
    public static let word = "watch-system"
    /// The request that allows the machine to sleep.
    static let readyToSleep: [UInt8] = [0]

    public static func main() -> Never {
        BusProcess.main(on: .system) { SystemConversation(library: $0, connection: $1) }
    }
}

/// Talks to two services without starting them; both may start and stop at any time. One thread.
///
/// - NetworkManager: the property `Metered`.
/// - logind: the signal `PrepareForSleep`, with an inhibitor lock of the kind "delay" that keeps the machine
///   awake until it is closed; `LockedHint` and the signal `Lock` of the own session.
struct SystemConversation: BusConversation {
    let library: BusLibrary
    let connection: BusLibrary.Connection

    private enum Call: Equatable {
        case owner
        case metered
        case inhibit
        case lockedHint
        /// The own session's identifier, after the signal `Lock` of the session at this path.
        case ownSession(locked: String)
    }

    private var calls: [UInt32: Call] = [:]
    /// Delays sleep while it is open.
    private var inhibitor: OpenFile?
    /// The unique bus name of logind.
    private var loginService: String?
    private var isPreparing = false

    private static let network = "org.freedesktop.NetworkManager"
    private static let networkPath = "/org/freedesktop/NetworkManager"
    private static let login = "org.freedesktop.login1"
    private static let loginPath = "/org/freedesktop/login1"
    private static let loginInterface = "org.freedesktop.login1.Manager"
    private static let session = "org.freedesktop.login1.Session"
    private static let sessionsPath = "/org/freedesktop/login1/session"
    /// logind's name for the session of the caller, or the one on the user's display.
    private static let ownSession = "/org/freedesktop/login1/session/auto"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"
    /// NM_METERED_YES and NM_METERED_GUESS_YES.
    private static let metered: Set<UInt32> = [1, 3]

    init(library: BusLibrary, connection: BusLibrary.Connection) {
        (self.library, self.connection) = (library, connection)
    }

    mutating func begin() {
        for rule in [
            "type='signal',sender='\(Self.network)',path='\(Self.networkPath)',interface='\(Self.properties)'",
            "type='signal',sender='\(Self.login)',interface='\(Self.loginInterface)',member='PrepareForSleep'",
            "type='signal',sender='\(Self.login)',interface='\(Self.session)',member='Lock'",
            "type='signal',sender='\(Self.login)',interface='\(Self.properties)',member='PropertiesChanged',"
                + "path_namespace='\(Self.sessionsPath)'",
            "type='signal',sender='\(Self.busName)',member='NameOwnerChanged',arg0='\(Self.network)'",
            "type='signal',sender='\(Self.busName)',member='NameOwnerChanged',arg0='\(Self.login)'",
        ] {
            library.match(rule, on: connection)
        }
        // Apart from the inhibitor, which may be refused.
        call(.owner, Self.busName, Self.busPath, Self.busName, "GetNameOwner", [Self.login])
        inhibit()
        askMetered()
    }

    mutating func take(_ request: [UInt8]) -> Bool {
        guard request == SystemBusProcess.readyToSleep else { return false }
        // If the machine is awake again, the lock belongs to the next sleep.
        if isPreparing { inhibitor = nil }
        return true
    }

    mutating func hear(_ message: BusLibrary.Message) -> Bool {
        if let reply = library.reply(message) { return hear(reply.serial, reply.isError, message) }
        if library.isSignal(message, Self.busName, "NameOwnerChanged"),
            library.sender(message) == Self.busName
        {
            return ownerChanged(library.arguments(of: message))
        }
        if library.isSignal(message, Self.properties, "PropertiesChanged") {
            // One program may own both names.
            if let loginService, library.sender(message) == loginService { askLockedHint() }
            askMetered()
            return true
        }
        if library.isSignal(message, Self.session, "Lock") {
            guard let loginService, library.sender(message) == loginService, let path = library.path(message)
            else { return true }
            askOwnSession(locked: path)
            return true
        }
        // Any program on the system bus could send such a signal, so check its sender.
        guard library.isSignal(message, Self.loginInterface, "PrepareForSleep"),
            let loginService, library.sender(message) == loginService,
            case .flag(let isPreparing)? = library.arguments(of: message).first
        else { return true }
        return prepare(isPreparing)
    }

    // MARK: - Steps

    private mutating func prepare(_ isPreparing: Bool) -> Bool {
        guard isPreparing != self.isPreparing else { return true }
        self.isPreparing = isPreparing
        if !isPreparing { inhibit() }
        return BusProcess.say((isPreparing ? SystemNotice.sleeping : .awake).encoded)
    }

    /// Requests an inhibitor lock, unless one is held or requested.
    private mutating func inhibit() {
        guard inhibitor == nil, !calls.values.contains(.inhibit) else { return }
        call(
            .inhibit, Self.login, Self.loginPath, Self.loginInterface, "Inhibit",
            ["sleep", "ChatFS", "Closes connections and completes stored data.", "delay"])
    }

    private mutating func askMetered() {
        call(.metered, Self.network, Self.networkPath, Self.properties, "Get", [Self.network, "Metered"])
    }

    private mutating func askLockedHint() {
        guard !calls.values.contains(.lockedHint) else { return }
        call(
            .lockedHint, Self.login, Self.ownSession, Self.properties, "Get", [Self.session, "LockedHint"])
    }

    /// Every session's signal is heard, also those of other users.
    private mutating func askOwnSession(locked path: String) {
        call(
            .ownSession(locked: path), Self.login, Self.ownSession, Self.properties, "Get",
            [Self.session, "Id"])
    }

    private mutating func call(
        _ call: Call, _ service: String, _ path: String, _ interface: String, _ method: String,
        _ arguments: [String]
    ) {
        let message = library.call(service, path, interface, method, starts: false)
        let serial = library.send(message, arguments.map { .text($0) }, over: connection)
        if let serial { calls[serial] = call }
    }

    private mutating func hear(_ serial: UInt32, _ isError: Bool, _ message: BusLibrary.Message) -> Bool {
        switch calls.removeValue(forKey: serial) {
        case nil: return true
        case .owner:
            guard !isError, case .text(let owner)? = library.arguments(of: message).first else { return true }
            loginService = owner
            return true
        case .metered:
            // Ignore the reply to an older request; a newer one is pending.
            guard !calls.values.contains(.metered) else { return true }
            var isMetered = false
            if !isError, case .number(let number)? = library.arguments(of: message).first {
                isMetered = Self.metered.contains(number)
            }
            return BusProcess.say(SystemNotice.metered(isMetered).encoded)
        case .lockedHint:
            // Repeated if the session was already locked; receivers have then already acted on it.
            guard !isError, case .flag(true)? = library.arguments(of: message).first else { return true }
            return BusProcess.say(SystemNotice.sessionLocked.encoded)
        case .ownSession(let locked):
            // An error: this process has no session that could be locked.
            guard !isError, case .text(let own)? = library.arguments(of: message).first,
                Self.path(ofSession: own) == locked
            else { return true }
            return BusProcess.say(SystemNotice.sessionLocked.encoded)
        case .inhibit:
            guard !isError, let descriptor = library.descriptor(in: message) else { return true }
            inhibitor = OpenFile(adopting: descriptor)
            return true
        }
    }

    /// Returns the path of a session as logind makes it: bytes other than letters, and digits at the start, become `_`
    /// and two hexadecimal digits.
    static func path(ofSession identifier: String) -> String {
        var path = sessionsPath + "/"
        for (index, byte) in identifier.utf8.enumerated() {
            let character = Character(Unicode.Scalar(byte))
            let isKept = character.isASCII && (character.isLetter || index > 0 && character.isNumber)
            path += isKept ? String(character) : "_" + Hexadecimal.encode([byte])
        }
        return path
    }

    /// - Parameter arguments: The name, its old owner and its new owner.
    private mutating func ownerChanged(_ arguments: [BusValue]) -> Bool {
        guard arguments.count == 3, case .text(let name) = arguments[0], case .text(let owner) = arguments[2]
        else { return true }
        if name == Self.network {
            askMetered()
        } else if name == Self.login {
            loginService = owner.isEmpty ? nil : owner
            inhibitor = nil
            // logind has gone, so its wake-up signal will not come.
            if isPreparing, !prepare(false) { return false }
            if !owner.isEmpty { inhibit() }
        }
        return true
    }
}
