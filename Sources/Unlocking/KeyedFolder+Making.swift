import Base
import Cryptography
import Glibc
import KeySlots
import Keyring
import Posix

extension KeyedFolder {
    /// Gives a new folder a data key, wrapped for the first available way: the named one, a credential, the keyring, or
    /// a passphrase that is typed twice. Of concurrent processes one creates it.
    ///
    /// - Parameter prepare: Creates the folder, once there is a way.
    /// - Returns: Nil if the folder is to stay unencrypted.
    /// - Throws: `.noWay`, `.unconfirmed`, `.wrongSecret`, `.keyring`, `.keys`, `.busy`, `.diskFull`, `.file`.
    public func make(
        with ways: Ways, prepare: () throws -> Void
    ) throws -> (dataKey: SecretBytes, kind: KeySlot.Kind)? {
        if ways.makesPlain { return nil }
        let (secret, kept) = try firstSecret(ways)
        try prepare()
        return try make(DataKey.random(), secret, kept, ways)
    }

    private func make(
        _ dataKey: SecretBytes, _ secret: UnlockingSecret, _ kept: (key: SecretBytes, keyring: Keyring)?,
        _ ways: Ways
    ) throws(UnlockingError) -> (dataKey: SecretBytes, kind: KeySlot.Kind) {
        let made: KeySlots
        do throws(KeySlotsError) {
            made = try KeySlots(dataKey, for: secret, at: SystemWallClock().now())
        } catch {
            throw UnlockingError(error)
        }
        // The keyring first: a key file without a way to unlock would lose the data.
        if let kept { try keep(kept.key, made.name, in: kept.keyring) }
        let end = ContinuousClock.now + .seconds(10)
        while true {
            do throws(KeySlotsError) {
                try file.create(made)
                return (dataKey, secret.kind)
            } catch {
                if error.code == .busy, ContinuousClock.now < end {
                    usleep(20_000)
                    continue
                }
                if let kept { try? kept.keyring.forget(made.name) }
                guard error.code == .exists else { throw UnlockingError(error) }
                let other = try unlocking(with: ways)
                return (other.dataKey, other.slot.kind)
            }
        }
    }

    /// The secret for a new folder or way: the named one, a credential, a new key for the keyring, or a new passphrase.
    private func firstSecret(
        _ ways: Ways
    ) throws(UnlockingError) -> (UnlockingSecret, (key: SecretBytes, keyring: Keyring)?) {
        if let named = ways.named { return (named, nil) }
        if let credential = try ways.credentials?.secrets().first { return (credential, nil) }
        if let keyring = ways.keyring, isUsable(keyring) {
            let key = DataKey.random()
            return (.keyringKey(key), (key, keyring))
        }
        guard let ask = ways.ask else {
            throw UnlockingError(
                .noWay,
                "New data is encrypted, and there is neither a keyring to keep its key nor a terminal to ask for a "
                    + "passphrase: give --passphrase-fd or --key-fd, or --no-encryption")
        }
        return (.passphrase(try Self.newPassphrase(ask)), nil)
    }

    /// Checks that the keyring answers, by reading a missing key.
    private func isUsable(_ keyring: Keyring) -> Bool {
        do throws(KeyringError) {
            _ = try keyring.key(named: "nothing")
            return true
        } catch {
            return false
        }
    }

    /// Stores a key in the keyring and reads it back: a lost key would mean lost data.
    func keep(_ key: SecretBytes, _ name: String, in keyring: Keyring) throws(UnlockingError) {
        do throws(KeyringError) {
            try keyring.keep(key, named: name)
            guard let kept = try keyring.key(named: name), kept.isEqual(to: key) else {
                throw KeyringError(.refused, "The keyring did not keep the key: nothing was changed.")
            }
        } catch {
            throw UnlockingError(error)
        }
    }

    /// Asks twice.
    /// - Throws: `.unconfirmed`.
    public static func newPassphrase(
        _ ask: (Ways.Passphrase) -> SecretBytes?
    ) throws(UnlockingError) -> SecretBytes {
        guard let first = ask(.new), first.count > 0 else {
            throw UnlockingError(.unconfirmed, "No passphrase was given: nothing was changed.")
        }
        guard let second = ask(.again),
            first.isEqual(to: second)
        else {
            throw UnlockingError(.unconfirmed, "The two passphrases differ: nothing was changed.")
        }
        return first
    }
}
