import Base
import Cryptography
import TestSupport
import Testing

@testable import KeySlots

/// The cheapest derivation, because the tests run many.
let cheap = Argon2id.Cost(passes: 1, memory: 8 << 10)!

extension UnlockingSecret {
    static func words(_ text: String) -> UnlockingSecret { .passphrase(SecretBytes(Array(text.utf8))) }
}

extension SecretBytes {
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

@Suite struct KeySlotsTests {
    private let dataKey = DataKey.random()
    private let time = Timestamp(seconds: 1_700_000_000)

    private func made(_ secret: UnlockingSecret) throws -> KeySlots {
        try KeySlots(dataKey, for: secret, at: time, cost: cheap)
    }

    @Test func onlyAddedSecretsUnlock() throws {
        var slots = try made(.words("correct horse"))
        let code = RecoveryCode.random()
        let key = SecretBytes(randomCount: 32)
        try slots.add(.recoveryCode(code), for: dataKey, at: time, cost: cheap)
        try slots.add(.key(key), for: dataKey, at: time, cost: cheap)
        try slots.add(.words("battery staple"), for: dataKey, at: time, cost: cheap)
        slots = try KeySlots(slots.encoded)
        for (secret, number) in [
            (UnlockingSecret.words("correct horse"), 1), (.recoveryCode(try RecoveryCode(code.text)), 2),
            (.key(key), 3), (.words("battery staple"), 4),
        ] {
            let (found, slot) = try slots.unlock(with: secret)
            #expect(found.bytes == dataKey.bytes)
            #expect(slot.number == number && slot.kind == secret.kind && slot.created == time)
        }
        for secret in [
            UnlockingSecret.words("Correct horse"), .recoveryCode(.random()),
            .key(SecretBytes(randomCount: 32)),
        ] {
            let error = #expect(throws: KeySlotsError.self) { try slots.unlock(with: secret) }
            #expect(error?.code == .wrongSecret)
        }
    }

    @Test func missingSlotDiffersFromWrongSecret() throws {
        let slots = try made(.words("correct horse"))
        let error = #expect(throws: KeySlotsError.self) { try slots.unlock(with: .recoveryCode(.random())) }
        #expect(error?.code == .noSuchWay)
    }

    @Test func removedSlotIsGoneAndTheLastOneStays() throws {
        var slots = try made(.words("old"))
        #expect(throws: KeySlotsError.self) { try slots.remove(1) }
        let new = try slots.add(.words("new"), for: dataKey, at: time, cost: cheap)
        try slots.remove(1)
        #expect(throws: KeySlotsError.self) { try slots.unlock(with: .words("old")) }
        #expect(try slots.unlock(with: .words("new")).dataKey.bytes == dataKey.bytes)
        #expect(throws: KeySlotsError.self) { try slots.remove(1) }
        #expect(throws: KeySlotsError.self) { try slots.remove(new.number) }
        // Slot numbers are not reused.
        #expect(try slots.add(.words("third"), for: dataKey, at: time, cost: cheap).number == 3)
    }

    @Test func numberOfSlotsIsLimited() throws {
        var slots = try made(.key(SecretBytes(randomCount: 32)))
        for _ in 1..<KeySlots.maxSlots {
            try slots.add(.key(SecretBytes(randomCount: 32)), for: dataKey, at: time)
        }
        #expect(throws: KeySlotsError.self) {
            try slots.add(.recoveryCode(.random()), for: dataKey, at: time)
        }
        #expect(slots.encoded.count == KeySlots.longest)
        #expect(try KeySlots(slots.encoded) == slots)
    }

    @Test func emptyAndTooLongPassphrasesAreRejected() {
        for text in ["", String(repeating: "x", count: 1025)] {
            let error = #expect(throws: KeySlotsError.self) { try made(.words(text)) }
            #expect(error?.code == .unsuitableSecret)
        }
        #expect(throws: KeySlotsError.self) { try made(.key(SecretBytes(randomCount: 31))) }
    }

    @Test func everyChangedBitIsDetected() throws {
        var slots = try made(.words("correct horse"))
        try slots.add(.key(SecretBytes(randomCount: 32)), for: dataKey, at: time)
        let bytes = slots.encoded
        for bit in 0..<bytes.count * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            let error = #expect(throws: KeySlotsError.self) { try KeySlots(damaged) }
            #expect(error?.code == (bit / 8 < 16 ? .notKeySlots : .damaged))
        }
        for count in 0..<bytes.count {
            #expect(throws: KeySlotsError.self) { try KeySlots(Array(bytes[..<count])) }
        }
        #expect(throws: KeySlotsError.self) { try KeySlots(bytes + [0]) }
    }

    /// The checksum is correct, so the parser must not trust any field.
    @Test func forgedFileUnlocksNothing() throws {
        let key = SecretBytes(randomCount: 32)
        let bytes = try made(.key(key)).encoded
        var random = SeededGenerator(state: 5)
        for _ in 0..<3000 {
            var forged = Array(bytes[..<(bytes.count - 32)])
            forged[Int.random(in: 16..<forged.count, using: &random)] ^= UInt8.random(
                in: 1...255, using: &random)
            forged += BLAKE2b.hash(forged)
            guard let slots = try? KeySlots(forged) else { continue }
            #expect(slots.encoded == forged)
            let found = try? slots.unlock(with: .key(key))
            // Only the next slot number is unauthenticated.
            #expect(found == nil || forged[24..<28] != bytes[24..<28])
        }
    }

    @Test func newerVersionIsRejected() throws {
        var bytes = Array(try made(.words("correct horse")).encoded.dropLast(32))
        bytes[16] = 2
        let error = #expect(throws: KeySlotsError.self) { try KeySlots(bytes + BLAKE2b.hash(bytes)) }
        #expect(error?.code == .newerVersion)
    }

    @Test func slotsOpenOnlyInTheirFile() throws {
        let key = SecretBytes(randomCount: 32)
        let (first, second) = (try made(.key(key)).encoded, try made(.key(key)).encoded)
        var mixed = Array(first[..<64]) + Array(second[64..<(second.count - 32)])
        mixed += BLAKE2b.hash(mixed)
        let error = #expect(throws: KeySlotsError.self) { try KeySlots(mixed).unlock(with: .key(key)) }
        #expect(error?.code == .wrongSecret)
    }

    @Test func equalSecretsGiveDifferentFiles() throws {
        #expect(try made(.words("a")).encoded != made(.words("a")).encoded)
    }
}
