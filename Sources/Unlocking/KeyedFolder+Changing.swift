import Base
import Cryptography
import KeySlots
import Keyring

/// Changing one way to unlock rewrites nothing else.
extension KeyedFolder {
    /// One more way, in place of those of the given kinds.
    ///
    /// - Parameter dataKey: from `unlock`.
    /// - Throws: `.wrongSecret` for an unsuitable one, `.keys`, `.busy`, `.diskFull`, `.file`.
    public func add(
        _ secret: UnlockingSecret, for dataKey: SecretBytes, replacing kinds: Set<KeySlot.Kind> = []
    ) throws(UnlockingError) {
        let now = SystemWallClock().now()
        try change { slots throws(KeySlotsError) in
            let new = try slots.add(secret, for: dataKey, at: now)
            for old in slots.slots where kinds.contains(old.kind) && old != new {
                try slots.remove(old.number)
            }
        }
    }

    /// A fresh code in place of an earlier one, to be shown once.
    /// - Throws: as `add`.
    public func newRecoveryCode(for dataKey: SecretBytes) throws(UnlockingError) -> RecoveryCode {
        let code = RecoveryCode.random()
        try add(.recoveryCode(code), for: dataKey, replacing: [.recoveryCode])
        return code
    }

    /// Has the keyring unlock it from now on, with a key of its own.
    /// - Throws: as `add`, and `.keyring`.
    public func remember(_ dataKey: SecretBytes, in keyring: Keyring) throws(UnlockingError) {
        let key = DataKey.random()
        let name = try slots().name
        do throws(KeyringError) { try keyring.keep(key, named: name) } catch { throw UnlockingError(error) }
        try add(.keyringKey(key), for: dataKey, replacing: [.keyring])
    }

    /// What the keyring keeps opens nothing any more, also where it cannot be asked.
    ///
    /// - Returns: what the keyring said when its own copy was to go.
    /// - Throws: `.keys` where it is the last way, or none; `.busy`, `.diskFull`, `.file`.
    @discardableResult
    public func forget(in keyring: Keyring?) throws(UnlockingError) -> KeyringError? {
        let name = try slots().name
        try change { slots throws(KeySlotsError) in
            let kept = slots.slots.filter { $0.kind == .keyring }
            guard !kept.isEmpty else {
                throw KeySlotsError(.slots, "The keyring has no key of it: there is nothing to forget.")
            }
            for slot in kept { try slots.remove(slot.number) }
        }
        guard let keyring else { return nil }
        do throws(KeyringError) {
            try keyring.forget(name)
            return nil
        } catch {
            return error
        }
    }

    private func change(_ body: (inout KeySlots) throws(KeySlotsError) -> Void) throws(UnlockingError) {
        do throws(KeySlotsError) { try file.change(body) } catch { throw UnlockingError(error) }
    }
}
