import Base
import Cryptography
import Glibc
import KeySlots
import Keyring
import Posix
import Store

/// A folder whose databases are encrypted with one data key. Its file `keys` holds that key, wrapped for each way to
/// unlock. Data directories and folders of relays are such folders. Blocks; a passphrase takes half a second.
public struct KeyedFolder: Sendable {
    public enum Condition: Hashable, Sendable {
        /// The folder has no data yet.
        case new
        case plain
        case encrypted
    }

    public static let keysFile = "keys"

    public let path: String
    /// The database that exists in every used folder.
    private let database: String
    var file: KeySlotsFile { KeySlotsFile(path: path + "/" + Self.keysFile) }

    /// - Parameters:
    ///   - path: The path of the folder. Absolute.
    ///   - database: The name of the database that is created first.
    public init(path: String, database: String) {
        self.path = path
        self.database = database
    }

    /// - Throws: `.file` if the condition is unknown, because the folder must not be taken for a new one; `.keys` if
    ///   the first database is encrypted and the file of keys is missing.
    public var condition: Condition {
        get throws(UnlockingError) {
            if try isThere(file.path) { return .encrypted }
            guard try isThere(path + "/" + database) else { return .new }
            guard Database.isSealed(path: path + "/" + database) else { return .plain }
            throw UnlockingError(
                .keys,
                "The file \(Self.keysFile) is missing in \(path): \(database) there is encrypted, and nothing else opens it. "
                    + "Put \(Self.keysFile) back from a backup.")
        }
    }

    private func isThere(_ file: String) throws(UnlockingError) -> Bool {
        do throws(SystemError) {
            try check("look into \(path)") { access(file, F_OK) }
            return true
        } catch {
            if error.code == ENOENT || error.code == ENOTDIR { return false }
            throw UnlockingError(error)
        }
    }

    /// The existing ways to unlock.
    /// - Throws: `.keys`, `.file`.
    public func slots() throws(UnlockingError) -> KeySlots {
        do throws(KeySlotsError) {
            return try file.read()
        } catch {
            throw try missing(error) ?? UnlockingError(error)
        }
    }

    /// Returns the error for a folder that never had a file of keys, or nil for other causes.
    private func missing(_ error: KeySlotsError) throws(UnlockingError) -> UnlockingError? {
        guard error.code == .missing else { return nil }
        return switch try condition {
        case .encrypted: nil
        case .plain:
            UnlockingError(.keys, "The data is not encrypted: 'chatfs key set' encrypts it.", cause: error)
        case .new: UnlockingError(.keys, "Nothing is kept there yet.", cause: error)
        }
    }

    // MARK: - Unlocking

    /// - Throws: `.noWay`, `.wrongSecret`, `.keyring`, `.keys`, `.file`.
    public func unlock(with ways: Ways) throws(UnlockingError) -> SecretBytes {
        try unlocking(with: ways).dataKey
    }

    /// The same with the kind of the way.
    /// - Throws: As `unlock`.
    public func unlockedWay(
        with ways: Ways
    ) throws(UnlockingError) -> (dataKey: SecretBytes, kind: KeySlot.Kind) {
        let opened = try unlocking(with: ways)
        return (opened.dataKey, opened.slot.kind)
    }

    /// Returns whether a key opens the first database.
    /// - Throws: `.database`.
    public func probe(with key: SecretBytes) throws(UnlockingError) {
        do throws(StoreError) {
            try Database.probe(path: path + "/" + database, key: key)
        } catch {
            throw UnlockingError(error)
        }
    }

    func unlocking(with ways: Ways) throws(UnlockingError) -> (dataKey: SecretBytes, slot: KeySlot) {
        removeUnconfirmed()
        let slots = try slots()
        if let named = ways.named {
            do throws(KeySlotsError) {
                return try slots.unlock(with: named)
            } catch {
                throw UnlockingError(error)
            }
        }
        var obstacles: [UnlockingError] = []
        for secret in try ways.credentials?.secrets() ?? [] {
            if let opened = try open(slots, secret) { return opened }
            obstacles.append(UnlockingError(.wrongSecret, "The credential does not open it."))
        }
        if slots.slots.contains(where: { $0.kind == .keyring }) {
            switch try opening(slots, ways.keyring) {
            case .success(let opened): return opened
            case .failure(let error): obstacles.append(error)
            }
        }
        if slots.slots.contains(where: { $0.kind == .passphrase }), let ask = ways.ask {
            return try asking(slots, ask)
        }
        throw Self.noWay(slots, obstacles)
    }

    /// - Parameter keyring: Nil if there is none yet, as before a login.
    private func opening(
        _ slots: KeySlots, _ keyring: Keyring?
    ) throws(UnlockingError) -> Result<(dataKey: SecretBytes, slot: KeySlot), UnlockingError> {
        guard let keyring else { return .failure(UnlockingError(KeyringError.absent)) }
        let key: SecretBytes?
        do throws(KeyringError) {
            key = try keyring.key(named: slots.name)
        } catch {
            return .failure(UnlockingError(error))
        }
        if let key, let opened = try open(slots, .keyringKey(key)) { return .success(opened) }
        return .failure(UnlockingError(.wrongSecret, "The keyring has no key of it."))
    }

    /// Returns nil if it does not open the folder.
    private func open(
        _ slots: KeySlots, _ secret: UnlockingSecret
    ) throws(UnlockingError) -> (dataKey: SecretBytes, slot: KeySlot)? {
        do throws(KeySlotsError) {
            return try slots.unlock(with: secret)
        } catch {
            guard error.code == .wrongSecret || error.code == .noSuchWay else { throw UnlockingError(error) }
            return nil
        }
    }

    private func asking(
        _ slots: KeySlots, _ ask: (Ways.Passphrase) -> SecretBytes?
    ) throws(UnlockingError) -> (dataKey: SecretBytes, slot: KeySlot) {
        guard let answer = try Self.answer(slots, ask) else { throw Self.noWay(slots, []) }
        return (answer.dataKey, answer.slot)
    }

    /// Asks for the passphrase or recovery code, and returns the right one for later use.
    /// - Returns: Nil without an answer.
    /// - Throws: As `unlock`.
    public func askedSecret(
        _ ask: (Ways.Passphrase) -> SecretBytes?
    ) throws(UnlockingError) -> UnlockingSecret? {
        try Self.answer(slots(), ask)?.secret
    }

    /// Three attempts, as at a login. A recovery code may replace the passphrase.
    private static func answer(
        _ slots: KeySlots, _ ask: (Ways.Passphrase) -> SecretBytes?
    ) throws(UnlockingError) -> (secret: UnlockingSecret, dataKey: SecretBytes, slot: KeySlot)? {
        for attempt in 1...3 {
            guard let typed = ask(attempt == 1 ? .present : .presentOnceMore) else { break }
            if let code = RecoveryCode(typed: typed),
                let opened = try? slots.unlock(with: .recoveryCode(code))
            {
                return (.recoveryCode(code), opened.dataKey, opened.slot)
            }
            do throws(KeySlotsError) {
                let opened = try slots.unlock(with: .passphrase(typed))
                return (.passphrase(typed), opened.dataKey, opened.slot)
            } catch {
                guard error.code == .wrongSecret, attempt < 3 else { throw UnlockingError(error) }
            }
        }
        return nil
    }

    private static func noWay(_ slots: KeySlots, _ obstacles: [UnlockingError]) -> UnlockingError {
        let kinds = Set(slots.slots.map(\.kind))
        var hints: [String] = []
        if kinds.contains(.passphrase) { hints.append("--passphrase-fd") }
        if kinds.contains(.key) { hints.append("--key-fd") }
        if kinds.contains(.recoveryCode) { hints.append("--recovery-code-fd") }
        let known = obstacles.map { $0.sentence + " " }.joined()
        let hint =
            hints.isEmpty
            ? "Unlock the keyring." : "Unlock it with \(hints.joined(separator: " or "))."
        // A keyring's error is more useful than the lack of ways.
        let keyring = obstacles.first { $0.code == .keyring }
        return UnlockingError(
            keyring == nil ? .noWay : .keyring,
            "The data is encrypted and could not be unlocked. \(known)\(hint)",
            cause: keyring)
    }
}
