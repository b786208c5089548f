import Base
import Cryptography
import Glibc
import KeySlots
import Keyring
import Posix
import Store

/// A folder whose databases are encrypted with one data key, which lies in its file `keys`, sealed for each way to
/// unlock. A data directory is one, and so is the folder of a relay. Blocks, a passphrase for half a second.
public struct KeyedFolder: Sendable {
    public enum Condition: Hashable, Sendable {
        /// Nothing was kept in it yet.
        case new
        case plain
        case encrypted
    }

    public static let keysFile = "keys"

    public let path: String
    /// The one that is there wherever something is kept.
    private let database: String
    var file: KeySlotsFile { KeySlotsFile(path: path + "/" + Self.keysFile) }

    /// - Parameters:
    ///   - path: of the folder. Absolute.
    ///   - database: the name of the database that is made first.
    public init(path: String, database: String) {
        self.path = path
        self.database = database
    }

    /// - Throws: `.file` where that cannot be found out: it must not be taken for a new one; `.keys` where its first
    ///   database is encrypted and the file of keys is missing.
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

    /// The ways to unlock that there are.
    /// - Throws: `.keys`, `.file`.
    public func slots() throws(UnlockingError) -> KeySlots {
        do throws(KeySlotsError) {
            return try file.read()
        } catch {
            throw try missing(error) ?? UnlockingError(error)
        }
    }

    /// What is so where there is no file of keys because there never was one; nil: it is another error.
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

    /// The same, and which kind of way it was.
    /// - Throws: as `unlock`.
    public func unlockedWay(
        with ways: Ways
    ) throws(UnlockingError) -> (dataKey: SecretBytes, kind: KeySlot.Kind) {
        let opened = try unlocking(with: ways)
        return (opened.dataKey, opened.slot.kind)
    }

    /// Whether the first database opens with a key.
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

    /// - Parameter keyring: nil: there is none, but one may come, as at a login.
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

    /// nil: it does not open it.
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

    /// Asks for the passphrase, or the recovery code, and returns the right one for a later unlocking.
    /// - Returns: nil without an answer.
    /// - Throws: as `unlock`.
    public func askedSecret(
        _ ask: (Ways.Passphrase) -> SecretBytes?
    ) throws(UnlockingError) -> UnlockingSecret? {
        try Self.answer(slots(), ask)?.secret
    }

    /// Three times, as at a login. A recovery code is taken in place of the passphrase.
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
        // A keyring that fails says more than that no way is left.
        let keyring = obstacles.first { $0.code == .keyring }
        return UnlockingError(
            keyring == nil ? .noWay : .keyring,
            "The data is encrypted and could not be unlocked. \(known)\(hint)",
            cause: keyring)
    }
}
