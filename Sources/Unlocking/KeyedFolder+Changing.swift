import Base
import Cryptography
import KeySlots
import Keyring
import Posix

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

    /// A fresh code in place of earlier ones. Those open until somebody surely has it: whoever is killed here at
    /// whatever moment leaves a way that is known, and no other but where it may just have been handed over.
    ///
    /// - Parameter handingOver: gives it to its user. When it throws, the earlier ones stay and this one opens nothing.
    /// - Throws: as `add`, and what `handingOver` throws.
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
            // Whatever fails here, what is told is why nobody has the code.
            try? made?.noteUnseen()
            do throws(UnlockingError) {
                try change { slots throws(KeySlotsError) in try slots.remove(new.number) }
            } catch {
                // Its note stays, by which the next one that opens the folder removes it.
                made = nil
            }
            throw error
        }
        try change { slots throws(KeySlotsError) in
            // A later one was handed over by another process meanwhile.
            for old in slots.slots where old.kind == .recoveryCode && old.number < new.number {
                try slots.remove(old.number)
            }
        }
    }

    /// Has the keyring unlock it from now on, with a key of its own. Nothing changes where it does already. So what the
    /// keyring loses opened nothing, and until the new key's slot is written, after a kill too, all ways are as they
    /// were. Other changes wait, or are told so, while the keyring asks its user.
    ///
    /// - Throws: as `add`, and `.keyring`.
    public func remember(_ dataKey: SecretBytes, in keyring: Keyring) throws(UnlockingError) {
        let wrapping: (KeySlotsError) -> UnlockingError = { UnlockingError($0) }
        try file.change(wrapping: wrapping) { slots throws(UnlockingError) in
            // One that does not open it counts as none, for whatever reason.
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

    /// nil: nothing of this name, or something that is no key.
    private func kept(_ name: String, in keyring: Keyring) throws(UnlockingError) -> SecretBytes? {
        do throws(KeyringError) {
            return try keyring.key(named: name)
        } catch {
            guard error.code == .refused else { throw UnlockingError(error) }
            return nil
        }
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

    /// What a process that was killed left of a way that nobody has the secret of.
    func removeUnconfirmed() {
        UnconfirmedSlot.sweep(in: path) { isLeft in
            do throws(UnlockingError) {
                try change { slots throws(KeySlotsError) in
                    for slot in slots.slots.filter(isLeft) { try slots.remove(slot.number) }
                }
                return true
            } catch {
                // Of damaged ones whoever unlocks with them is told; the rest is tried again by the next one.
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
