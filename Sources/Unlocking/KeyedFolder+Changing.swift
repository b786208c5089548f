import Base
import Cryptography
import KeySlots
import Keyring
import Posix

/// Changes one way to unlock without rewriting anything else.
extension KeyedFolder {
    /// Adds a way, replacing those of the given kinds.
    ///
    /// - Parameter dataKey: The result of `unlock`.
    /// - Throws: `.wrongSecret` for an unsuitable secret, `.keys`, `.busy`, `.diskFull`, `.file`.
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

    /// Replaces recovery codes by a new one. Earlier codes work until the user certainly has the new one. After a kill
    /// at any moment, every remaining way is known, except for a code that was just being handed over.
    ///
    /// - Parameter handingOver: Hands the code over. If it throws, earlier codes stay and the new one opens nothing.
    /// - Throws: As `add`, and the error of `handingOver`.
    public func newRecoveryCode(
        for dataKey: SecretBytes, handingOver: (RecoveryCode) throws -> Void
    ) throws {
        let code = RecoveryCode.random()
        let now = SystemWallClock().now()
        var made: UnconfirmedSlot?
        defer { made?.remove() }
        let new = try change { slots throws(KeySlotsError) in
            let slot = try slots.add(.recoveryCode(code), for: dataKey, at: now)
            do throws(SystemError) {
                made = try UnconfirmedSlot(of: slot, in: path)
            } catch {
                throw KeySlotsError(.file, error.sentence, cause: error)
            }
            return slot
        }
        do {
            try made?.noteShown()
            try handingOver(code)
        } catch {
            // A failure here must not hide the reason for which the code was not handed over.
            try? made?.noteUnseen()
            do throws(UnlockingError) {
                try change { slots throws(KeySlotsError) in try slots.remove(new.number) }
            } catch {
                // The note remains, so the next process that opens the folder removes the slot.
                made = nil
            }
            throw error
        }
        try change { slots throws(KeySlotsError) in
            // Another process handed a later code over meanwhile.
            for old in slots.slots where old.kind == .recoveryCode && old.number < new.number {
                try slots.remove(old.number)
            }
        }
    }

    /// Adds a new key in the keyring as a way. Does nothing if the keyring already unlocks the folder. A lost key of
    /// the keyring therefore opened nothing, and until the slot is written, also after a kill, all ways are unchanged.
    /// Other changes wait or fail while the keyring prompts its user.
    ///
    /// - Throws: As `add`, and `.keyring`.
    public func remember(_ dataKey: SecretBytes, in keyring: Keyring) throws(UnlockingError) {
        let wrapping: (KeySlotsError) -> UnlockingError = { UnlockingError($0) }
        try file.change(wrapping: wrapping) { slots throws(UnlockingError) in
            // A key that does not open it counts as missing, for any reason.
            if let kept = try kept(slots.name, in: keyring),
                (try? slots.unlock(with: .keyringKey(kept))) != nil
            {
                return
            }
            let key = DataKey.random()
            try keep(key, slots.name, in: keyring)
            do throws(KeySlotsError) {
                let new = try slots.add(.keyringKey(key), for: dataKey, at: SystemWallClock().now())
                for old in slots.slots where old.kind == .keyring && old != new {
                    try slots.remove(old.number)
                }
            } catch {
                throw UnlockingError(error)
            }
        }
    }

    /// Returns nil for a missing or malformed key.
    private func kept(_ name: String, in keyring: Keyring) throws(UnlockingError) -> SecretBytes? {
        do throws(KeyringError) {
            return try keyring.key(named: name)
        } catch {
            guard error.code == .refused else { throw UnlockingError(error) }
            return nil
        }
    }

    /// Removes the keyring's way, even if the keyring is unavailable.
    ///
    /// - Returns: The keyring's error when its copy was to be deleted.
    /// - Throws: `.keys` if it is the last way, or missing; `.busy`, `.diskFull`, `.file`.
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

    /// Removes the remains of a killed process: slots whose secret no user has.
    func removeUnconfirmed() {
        UnconfirmedSlot.sweep(in: path) { isLeft in
            do throws(UnlockingError) {
                try change { slots throws(KeySlotsError) in
                    for slot in slots.slots.filter(isLeft) { try slots.remove(slot.number) }
                }
                return true
            } catch {
                // A later unlock reports damaged keys; the next process retries the rest.
                return error.code == .keys
            }
        }
    }

    private func change<Result>(
        _ body: (inout KeySlots) throws(KeySlotsError) -> Result
    ) throws(UnlockingError) -> Result {
        do throws(KeySlotsError) { return try file.change(body) } catch { throw UnlockingError(error) }
    }
}
