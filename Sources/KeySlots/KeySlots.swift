import Base
import Cryptography

/// The key slots of one data key. A value; `KeySlotsFile` stores it.
///
///     0   magic, 16 bytes
///     16  version, number of slots, the next slot's number: 4 bytes each, little endian; 4 zeros
///     32  identity, 32 random bytes
///     64  the slots, 120 bytes each (`KeySlot`)
///     at the end BLAKE2b of all bytes before it: distinguishes damage from a wrong passphrase
public struct KeySlots: Equatable, Sendable {
    public static let maxSlots = 16
    static let magic = Array("ChatFS-keys-".utf8) + [0x0D, 0x0A, 0x1A, 0x0A]
    static let version: UInt32 = 1
    static let headerLength = 64
    static let identityLength = 32
    static let longest = headerLength + maxSlots * KeySlot.encodedLength + BLAKE2b.length

    private let identity: [UInt8]
    /// The name of this file's key in a keyring: 32 hexadecimal digits, public, constant for the life of the file.
    public var name: String {
        Hexadecimal.encode(Array(BLAKE2b.hash(Array("chatfs key slots: name".utf8) + [0] + identity)[..<16]))
    }
    public private(set) var slots: [KeySlot]
    private var next: UInt32

    /// Creates key slots with a first slot.
    ///
    /// - Throws: `.unsuitableSecret`, `.memory`.
    public init(
        _ dataKey: SecretBytes, for secret: UnlockingSecret, at time: Timestamp, cost: Argon2id.Cost = .usual
    ) throws(KeySlotsError) {
        identity = SystemRandomSource().bytes(Self.identityLength)
        slots = []
        next = 1
        try add(secret, for: dataKey, at: time, cost: cost)
    }

    /// Finds the slot that a secret opens. A passphrase takes its derivation time for each passphrase slot, so never
    /// call this on the cooperative pool.
    ///
    /// - Throws: `.noSuchWay`, `.wrongSecret`, `.unsuitableSecret`, `.memory`.
    public func unlock(
        with secret: UnlockingSecret
    ) throws(KeySlotsError) -> (dataKey: SecretBytes, slot: KeySlot) {
        let candidates = slots.filter { $0.kind == secret.kind }
        guard !candidates.isEmpty else {
            throw KeySlotsError(.noSuchWay, "The data cannot be unlocked this way; it was not set up.")
        }
        for slot in candidates {
            let key = try secret.wrappingKey(salt: slot.salt, cost: slot.cost)
            if let dataKey = slot.open(with: key, file: identity) { return (dataKey, slot) }
        }
        let name =
            switch secret {
            case .passphrase: "passphrase"
            case .recoveryCode: "recovery code"
            case .key, .keyringKey: "key"
            }
        throw KeySlotsError(.wrongSecret, "The \(name) is not the right one; try again.")
    }

    /// Adds a slot.
    ///
    /// - Parameter dataKey: The data key from `unlock`.
    /// - Throws: `.slots`, `.unsuitableSecret`, `.memory`.
    @discardableResult
    public mutating func add(
        _ secret: UnlockingSecret, for dataKey: SecretBytes, at time: Timestamp,
        cost: Argon2id.Cost = .usual
    ) throws(KeySlotsError) -> KeySlot {
        precondition(dataKey.count == DataKey.length, "a data key must have 32 bytes")
        guard slots.count < Self.maxSlots, next < UInt32.max else {
            throw KeySlotsError(.slots, "There are too many ways to unlock; remove one first.")
        }
        let slot = try KeySlot(
            dataKey, for: secret, number: next, created: time, cost: cost, file: identity)
        slots.append(slot)
        next += 1
        return slot
    }

    /// Removes a slot.
    /// - Throws: `.slots` for the last slot, `.noSuchWay`.
    public mutating func remove(_ number: UInt32) throws(KeySlotsError) {
        guard let index = slots.firstIndex(where: { $0.number == number }) else {
            throw KeySlotsError(.noSuchWay, "No way to unlock has this number.")
        }
        guard slots.count > 1 else {
            throw KeySlotsError(
                .slots,
                "This is the last way to unlock, and without it the data would be lost; add another first.")
        }
        slots.remove(at: index)
    }

    // MARK: - The file

    public var encoded: [UInt8] {
        var bytes = Self.magic
        for number in [Self.version, UInt32(slots.count), next, 0] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        bytes += identity
        for slot in slots { bytes += slot.encoded }
        return bytes + BLAKE2b.hash(bytes)
    }

    /// Decodes a whole file.
    ///
    /// - Throws: `.notKeySlots`, `.newerVersion`, `.damaged`.
    public init(_ bytes: [UInt8]) throws(KeySlotsError) {
        guard bytes.starts(with: Self.magic) else {
            throw KeySlotsError(.notKeySlots, "The file does not contain wrapped keys; choose another.")
        }
        guard bytes.count >= Self.headerLength + BLAKE2b.length, bytes.count <= Self.longest else {
            throw .damaged
        }
        let end = bytes.count - BLAKE2b.length
        guard BLAKE2b.hash(Array(bytes[..<end])) == Array(bytes[end...]) else { throw .damaged }
        let numbers: [UInt32] = bytes.withUnsafeBytes { bytes in
            [16, 20, 24, 28].map {
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))
            }
        }
        guard numbers[0] == Self.version else {
            throw KeySlotsError(
                .newerVersion, "The keys were wrapped by a newer version of ChatFS; update ChatFS.")
        }
        let count = Int(numbers[1])
        guard (1...Self.maxSlots).contains(count), numbers[3] == 0,
            end == Self.headerLength + count * KeySlot.encodedLength
        else { throw .damaged }
        var slots: [KeySlot] = []
        for index in 0..<count {
            let start = Self.headerLength + index * KeySlot.encodedLength
            guard let slot = KeySlot(Array(bytes[start..<start + KeySlot.encodedLength])),
                slot.number < numbers[2], !slots.contains(where: { $0.number == slot.number })
            else { throw .damaged }
            slots.append(slot)
        }
        self.slots = slots
        identity = Array(bytes[32..<64])
        next = numbers[2]
    }
}
