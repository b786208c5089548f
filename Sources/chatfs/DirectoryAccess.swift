import Base
import ChatCore
import CommandLineKit
import Cryptography
import Desktop
import EmbeddedCore
import Glibc
import KeySlots
import Keyring
import Posix
import Unlocking

/// The data directory of a command. It is unlocked on first use, once per process.
final class DirectoryAccess: Sendable {
    /// Absolute path.
    let path: String
    let ways: Ways
    /// True if data of an earlier version may be migrated irreversibly.
    private let mayMigrate: Bool
    /// True to request the key from mounts and the agent first.
    private let asksHolders: Bool
    /// True to use the default mount's profile if none is named, and the value of `--mount`.
    private let choosesProfile: (isOn: Bool, mount: String?)
    /// Serialises unlocking, which happens once.
    private let unlocking = BlockingMutex()
    private let found = Lock<Found?>(nil)

    private struct Found {
        let key: SecretBytes?
    }

    /// Reads `--data` and `CommonOptions.unlocking`. Reads descriptors, so call it once per command line.
    /// - Parameter asksHolders: False if the user must prove knowledge of the passphrase.
    convenience init(_ invocation: Invocation, asksHolders: Bool = true) throws {
        try self.init(
            path: invocation.dataPath, ways: Ways(invocation),
            mayMigrate: invocation.isGiven(CommonOptions.confirmMigration), asksHolders: asksHolders,
            choosesProfile: Self.choosesProfile(invocation))
    }

    init(
        path: String, ways: Ways, mayMigrate: Bool = false, asksHolders: Bool = true,
        choosesProfile: (isOn: Bool, mount: String?) = (false, nil)
    ) {
        self.path = path
        self.ways = ways
        self.mayMigrate = mayMigrate
        self.asksHolders = asksHolders
        self.choosesProfile = choosesProfile
    }

    /// For commands about a profile that may be mounted.
    private static func choosesProfile(
        _ invocation: Invocation
    ) throws(UsageError) -> (isOn: Bool, mount: String?) {
        guard invocation.takes(CommonOptions.mount) else { return (false, nil) }
        let (mount, profile) = (invocation[CommonOptions.mount], invocation[CommonOptions.profile])
        if mount != nil, profile != nil {
            throw UsageError("--mount and --profile both choose the profile: give one")
        }
        return (profile == nil, mount)
    }

    /// Uses an open directory.
    convenience init(unlocked directory: DataDirectory) {
        self.init(path: directory.path, ways: Ways())
        found.withLock { $0 = Found(key: directory.key) }
    }

    var folder: KeyedFolder { KeyedFolder(path: path, database: DataDirectory.databaseFile) }

    /// Opens the directory or creates it. Blocks.
    /// - Parameters:
    ///   - isMade: True to create a missing directory; false makes that an error.
    ///   - mayLackParts: See `DataDirectory.init`.
    func open(isMade: Bool = false, mayLackParts: Bool = false) throws -> DataDirectory {
        if !isMade, try !isThere() { throw DataDirectory.noProfile }
        let directory = try DataDirectory(
            path, key: key(), mayMigrate: mayMigrate, mayLackParts: mayLackParts)
        // The user chose plain data, so no hint is printed.
        if ways.makesPlain { _ = offerEncryption() }
        if choosesProfile.isOn { directory.mean(profile: try profileOfMount(directory)) }
        return directory
    }

    /// Returns the profile of the chosen mount. A name may belong to an unmounted profile.
    private func profileOfMount(_ directory: DataDirectory) throws -> Int64? {
        do {
            return try MountedProfiles(of: path).meant(choosesProfile.mount)
        } catch {
            let named = try directory.profiles().first { $0.displayName == choosesProfile.mount }
            guard let named else { throw error }
            return named.id
        }
    }

    /// Returns true if the directory contains data. Blocks.
    /// - Throws: An error for a foreign or inaccessible folder.
    func isThere() throws -> Bool {
        try DataDirectory.requireOwn(path)
        try DataDirectory.requireParts(path)
        guard try folder.condition == .new else { return true }
        if DataDirectory.exists(path) { try DataDirectory.makeFolder(path) }
        return false
    }

    /// Unlocks the directory, or creates the key of a new one. Returns nil if it is not encrypted. Blocks, also for a
    /// prompt.
    func key() throws -> SecretBytes? {
        try unlocking.withLock {
            if let found = found.withLock({ $0 }) { return found.key }
            // Checked before prompts and changes.
            try DataDirectory.requireOwn(path)
            try DataDirectory.requireParts(path)
            if let held = heldKey() {
                found.withLock { $0 = Found(key: held) }
                return held
            }
            let isNew = try folder.condition == .new
            let key = try Self.key(of: folder, lockFile: DataDirectory.useFile, ways) {
                try DataDirectory.makeFolder(path)
            }
            found.withLock { $0 = Found(key: key) }
            if isNew, let key { keepTyped(key) }
            return key
        }
    }

    /// Returns the key of a mount or the agent, unless the command names another way. Blocks.
    private func heldKey() -> SecretBytes? {
        guard asksHolders, ways.named == nil, ways.credentials == nil, (try? folder.condition) == .encrypted,
            let key = KeyClient.key(of: path), (try? folder.probe(with: key)) != nil
        else { return nil }
        return key
    }

    /// Keeps the key of new data whose passphrase was typed twice, so that the next commands need no prompt.
    private func keepTyped(_ key: SecretBytes) {
        guard asksHolders, ways.named == nil, ways.credentials == nil, ways.ask != nil,
            let slots = try? folder.slots().slots, slots.allSatisfy({ $0.kind == .passphrase })
        else { return }
        do {
            try KeyAgent.start(path, key: key, for: KeyAgent.afterMaking)
            Terminal.note(
                "chatfs: unlocked for \(KeyAgent.words(seconds: KeyAgent.afterMaking.components.seconds)); "
                    + "'chatfs unlock' extends that, 'chatfs lock' ends it")
        } catch {
            Log("keys").notice("key not kept for the next commands: error=\(sentence(of: error))")
        }
    }

    /// Returns the access for a background process, which cannot prompt. Prompts now if only a typed passphrase can
    /// unlock the directory, or a new one needs it. Starts no thread.
    func askedBeforehand() throws -> DirectoryAccess {
        var ways = ways
        let asks = ways.ask
        ways.ask = nil
        let isSilent = ways.named == nil && ways.credentials == nil
        try DataDirectory.requireParts(path)
        if let held = heldKey() {
            let access = DirectoryAccess(path: path, ways: ways, mayMigrate: mayMigrate)
            access.found.withLock { $0 = Found(key: held) }
            return access
        }
        if isSilent, let asks {
            switch try folder.condition {
            case .encrypted:
                let kinds = try folder.slots().slots.map(\.kind)
                if kinds.contains(.passphrase), ways.keyring == nil || !kinds.contains(.keyring) {
                    ways.named = try folder.askedSecret(asks)
                }
            case .new where !ways.makesPlain && ways.keyring == nil:
                ways.named = .passphrase(try KeyedFolder.newPassphrase(asks))
            case .new, .plain: break
            }
        }
        return DirectoryAccess(path: path, ways: ways, mayMigrate: mayMigrate)
    }

    /// Returns, once for a plain data directory, the hint to encrypt it; nil if the hint cannot be recorded. Blocks.
    func offerEncryption() -> String? {
        let offered = path + "/encryption-offered"
        guard (try? folder.condition) == .plain, access(offered, F_OK) != 0,
            (try? OpenFile(offered, flags: O_WRONLY | O_CREAT, mode: 0o600)) != nil
        else { return nil }
        return "the data is not encrypted, so anyone with the disk can read it; 'chatfs key set' encrypts it"
    }

    /// Unlocks any keyed folder; `prepare` creates a new one.
    /// - Parameters:
    ///   - lockFile: See `FolderEncryption`.
    ///   - exposed: The readable data of a plain folder, for the message.
    static func key(
        of folder: KeyedFolder, lockFile: String, exposed: String = "names, messages and files", _ ways: Ways,
        prepare: () throws -> Void
    ) throws -> SecretBytes? {
        // Completes an encryption interrupted by a kill.
        try FolderEncryption(folder, lockFile: lockFile).finish()
        switch try folder.condition {
        case .encrypted: return try folder.unlock(with: ways)
        case .plain:
            if ways.makesPlain || ways.named == nil { return nil }
            throw UsageError(
                "the data is not encrypted, so there is nothing to unlock; 'chatfs key set' encrypts it")
        case .new:
            guard let made = try Self.made(folder, ways, prepare) else {
                Terminal.note("chatfs: without encryption, anyone with the disk can read \(exposed)")
                return nil
            }
            switch made.kind {
            case .keyring:
                Terminal.note(
                    "chatfs: the data is encrypted, its key is in the keyring; 'chatfs key recovery' prints a code "
                        + "in case the keyring is lost")
            case .passphrase, .recoveryCode, .key: break
            }
            return made.dataKey
        }
    }

    private static func made(
        _ folder: KeyedFolder, _ ways: Ways, _ prepare: () throws -> Void
    ) throws -> (dataKey: SecretBytes, kind: KeySlot.Kind)? {
        do {
            return try folder.make(with: ways, prepare: prepare)
        } catch let error as UnlockingError where error.code == .noWay {
            // The command line lacks an option.
            guard Question.isInBackground else { throw UsageError(error.sentence) }
            throw UsageError(
                "new data needs a passphrase because there is no keyring, and a background command cannot ask for one: "
                    + "run it in the foreground once, or give --passphrase-fd, --key-fd or --no-encryption")
        }
    }
}

extension Ways {
    /// Reads `CommonOptions.unlocking`, which the command must have.
    init(_ invocation: Invocation) throws {
        guard CommonOptions.unlocking.count(where: invocation.isGiven) <= 1 else {
            throw UsageError("only one of --passphrase-fd, --key-fd and --recovery-code-fd can be given")
        }
        self.init(
            named: try Self.secret(invocation, CommonOptions.passphrase, UnlockingSecret.passphrase(from:))
                ?? Self.secret(invocation, CommonOptions.key, UnlockingSecret.key(from:))
                ?? Self.secret(invocation, CommonOptions.recoveryCode, UnlockingSecret.recoveryCode(from:)))
        makesPlain = invocation.isGiven(CommonOptions.noEncryption)
        credentials = Credentials()
        if Keyring.isPossible {
            var keyring = Keyring()
            keyring.whenWaiting = { Terminal.note("chatfs: the keyring is locked and asks you to unlock it") }
            self.keyring = keyring
        }
        if Question.isPossible { ask = { Question.passphrase($0) } }
    }

    /// The ways without a prompt or a wait; creates nothing.
    static var quiet: Ways {
        var ways = Ways()
        ways.credentials = Credentials()
        if Keyring.isPossible {
            var keyring = Keyring()
            keyring.mayAsk = false
            keyring.timeout = .seconds(2)
            ways.keyring = keyring
        }
        return ways
    }

    /// Reads the secret of an option with the number of a descriptor; nil if it is absent.
    static func secret(
        _ invocation: Invocation, _ option: Option<String?>,
        _ read: (OpenFile) throws(KeySlotsError) -> UnlockingSecret
    ) throws -> UnlockingSecret? {
        try invocation.file(option).map { file in try naming("--" + option.name) { try read(file) } }
    }
}
