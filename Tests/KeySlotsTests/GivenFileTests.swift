import Base
import Cryptography
import Testing

@testable import KeySlots

/// A file created by another program from the format's description: BLAKE2b from Python's hashlib, Argon2id and
/// ChaCha20-Poly1305 from its cryptography package, HChaCha20 by hand. Files of earlier versions must always open.
@Suite("A key file of another program")
struct GivenFileTests {
    private static let text =
        "4368617446532d6b6579732d0d0a1a0a01000000040000000900000000000000404142434445464748494a4b4c4d4e4f"
        + "505152535455565758595a5b5c5d5e5f010000000100000000002a36fe9c971701000000000000000020000000000000"
        + "101112131415161718191a1b1c1d1e1f3dd47d125c275013aa8db1d60363ddf0e67e5c6039c30395e6d1d568d0da65da"
        + "000102030405060708090a0b0c0d0e0f10111213141516177390a25dd077fb60668bf1971fd4b7490200000003000000"
        + "01002a36fe9c971700000000000000000000000000000000202122232425262728292a2b2c2d2e2f549f14d1480ffde1"
        + "f4f3ae3990740731629f30c1319056a28711dcf3d1ba22290102030405060708090a0b0c0d0e0f101112131415161718"
        + "b44ed59215e1cdd83282ced8e55ee3aa030000000400000002002a36fe9c971700000000000000000000000000000000"
        + "303132333435363738393a3b3c3d3e3f99c218efaa0367e71aff613d8e8e88bb791e63338ed029626b249f38ea7f937f"
        + "02030405060708090a0b0c0d0e0f101112131415161718195ff866451ed919bf60b758e02cbf6c900400000008000000"
        + "03002a36fe9c971700000000000000000000000000000000505152535455565758595a5b5c5d5e5fe7162749b136b3b8"
        + "05173a2fbf0bc280bff398b3a15d0bb9641381d137fe14b9030405060708090a0b0c0d0e0f101112131415161718191a"
        + "80a0659cd2630a9db7e6ea604484af11388bf9c89fe8ff9ab452178a2f85cc39c19b9a38fdb51e6995e665a2428f9f04"
    private let bytes: [UInt8]
    private let slots: KeySlots

    init() throws {
        bytes = try #require(Hexadecimal.decode(Self.text))
        slots = try KeySlots(bytes)
    }

    private static let dataKey = [UInt8](0xA0...0xBF)
    private static let key = [UInt8](0..<32)

    @Test("it round-trips with all its fields")
    func content() {
        #expect(slots.slots.map(\.kind) == [.passphrase, .recoveryCode, .key, .keyring])
        #expect(slots.slots.map(\.number) == [1, 3, 4, 8])
        let begin = Timestamp(seconds: 1_700_000_000)
        #expect(slots.slots.map(\.created.nanoseconds) == (0..<4).map { begin.nanoseconds + $0 })
        #expect(slots.slots.map(\.cost) == [cheap, nil, nil, nil])
        #expect(slots.slots.map(\.identity) == [0x10, 0x20, 0x30, 0x50].map { [UInt8]($0..<$0 + 16) })
        #expect(slots.name == "e9a244fb6571e781b71de8209428e5df")
        #expect(slots.encoded == bytes)
    }

    @Test("each of the four secrets opens it")
    func ways() throws {
        let code = try RecoveryCode("01234-56789-ABCDE-FGHJK-MNPQR-SDJKR")
        let secrets: [UnlockingSecret] = [
            .words("chatfs golden"), .recoveryCode(code), .key(SecretBytes(Self.key)),
            .keyringKey(SecretBytes(Self.key.reversed())),
        ]
        for (secret, slot) in zip(secrets, slots.slots) {
            let opened = try slots.unlock(with: secret)
            #expect(opened.dataKey.bytes == Self.dataKey)
            #expect(opened.slot == slot)
        }
    }

    @Test("key kinds are not interchangeable")
    func kinds() {
        for secret in [
            UnlockingSecret.key(SecretBytes(Self.key.reversed())), .keyringKey(SecretBytes(Self.key)),
        ] {
            let error = #expect(throws: KeySlotsError.self) { try slots.unlock(with: secret) }
            #expect(error?.code == .wrongSecret)
        }
    }

    @Test("a new slot gets the next number")
    func nextNumber() throws {
        var slots = slots
        let added = try slots.add(
            .words("more"), for: SecretBytes(Self.dataKey), at: Timestamp(seconds: 1), cost: cheap)
        #expect(added.number == 9)
        try slots.remove(9)
        let again = slots.encoded
        #expect(again[24] == 10)
        #expect(again[64..<(again.count - BLAKE2b.length)] == bytes[64..<(bytes.count - BLAKE2b.length)])
        #expect(throws: KeySlotsError.self) { try slots.remove(9) }
    }

    /// The checksum is correct.
    @Test(
        "files with impossible fields are damaged",
        arguments: [
            (20, 0), (20, 3), (20, 5), (20, 17), (21, 1), (28, 1), (31, 128), (24, 8), (24, 1), (64, 0),
            (64, 5),
            (65, 1), (67, 1), (80, 0), (80, 17), (88, 1), (89, 0), (184, 1), (200, 1), (208, 1), (188, 1),
        ] as [(Int, UInt8)])
    func nonsense(place: Int, value: UInt8) {
        var forged = Array(bytes.dropLast(BLAKE2b.length))
        forged[place] = value
        let error = #expect(throws: KeySlotsError.self) { try KeySlots(forged + BLAKE2b.hash(forged)) }
        #expect(error?.code == .damaged)
    }

    @Test("a slot's fields are authenticated")
    func sealed() throws {
        // In the key's slot: its number, time, salt, nonce and tag.
        let slot = 64 + 2 * KeySlot.encodedLength
        for place in [slot + 4, slot + 8, slot + 32, slot + 48, slot + 80, slot + 104] {
            var forged = Array(bytes.dropLast(BLAKE2b.length))
            forged[place] ^= place == slot + 4 ? 2 : 1
            let read = try KeySlots(forged + BLAKE2b.hash(forged))
            let error = #expect(throws: KeySlotsError.self, "\(place - slot)") {
                try read.unlock(with: .key(SecretBytes(Self.key)))
            }
            #expect(error?.code == .wrongSecret)
            // The other slots still open.
            #expect(try read.unlock(with: .words("chatfs golden")).dataKey.bytes == Self.dataKey)
        }
    }

    @Test("the largest slot number allows no further slot")
    func lastNumber() throws {
        var full = Array(bytes.dropLast(BLAKE2b.length))
        for place in 24..<28 { full[place] = 0xFF }
        var read = try KeySlots(full + BLAKE2b.hash(full))
        let error = #expect(throws: KeySlotsError.self) {
            try read.add(.words("x"), for: SecretBytes(Self.dataKey), at: Timestamp(seconds: 1), cost: cheap)
        }
        #expect(error?.code == .slots)
        #expect(read.encoded == full + BLAKE2b.hash(full))
    }
}
