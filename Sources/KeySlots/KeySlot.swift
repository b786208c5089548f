import Base
import Cryptography

/// The data key, sealed with a key from a passphrase, a recovery code or another key.
public struct KeySlot: Hashable, Sendable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// Derived with Argon2id at the slot's cost.
        case passphrase = 1
        case recoveryCode = 2
        /// Stored elsewhere: as a credential or in a file.
        case key = 3
        /// Stored in the desktop's keyring.
        case keyring = 4
    }

    /// The length of a slot in the file: the header, then the sealed data key.
    static let encodedLength = headerLength + wrappedLength
    private static let headerLength = 48
    private static let wrappedLength = DataKey.length + RecordCipher.overhead

    public let kind: Kind
    /// Unique within the file and never reused.
    public let number: UInt32
    public let created: Timestamp
    let salt: [UInt8]
    /// A unique public identity of the slot, `identityLength` bytes.
    public var identity: [UInt8] { salt }
    public static let identityLength = Argon2id.saltLength
    /// The derivation cost of a passphrase, otherwise nil.
    let cost: Argon2id.Cost?
    private let wrapped: [UInt8]

    /// - Parameter file: The identity of the file, which binds the slot to it.
    init(
        _ dataKey: SecretBytes, for secret: UnlockingSecret, number: UInt32, created: Timestamp,
        cost: Argon2id.Cost, file: [UInt8]
    ) throws(KeySlotsError) {
        kind = secret.kind
        self.number = number
        self.created = created
        self.cost = kind == .passphrase ? cost : nil
        salt = SystemRandomSource().bytes(Argon2id.saltLength)
        let header = Self.header(kind, number, created, self.cost, salt)
        let cipher = RecordCipher(key: try secret.wrappingKey(salt: salt, cost: self.cost))
        var wrapped = [UInt8](repeating: 0, count: Self.wrappedLength)
        let done = (header + file).withUnsafeBytes { place in
            dataKey.withUnsafeBytes { cipher.seal($0, authenticating: place, into: &wrapped) }
        }
        precondition(done, "OpenSSL failed to seal a key")
        self.wrapped = wrapped
    }

    /// Returns the data key, or nil if this secret does not open the slot.
    func open(with wrappingKey: SecretBytes, file: [UInt8]) -> SecretBytes? {
        let cipher = RecordCipher(key: wrappingKey)
        let place = Self.header(kind, number, created, cost, salt) + file
        var opened = false
        let key = SecretBytes(upTo: DataKey.length) { (memory: UnsafeMutableRawBufferPointer) -> Int in
            opened = place.withUnsafeBytes { place in
                wrapped.withUnsafeBytes {
                    cipher.open($0, authenticating: place, into: memory.baseAddress!)
                }
            }
            return DataKey.length
        }
        return opened ? key : nil
    }

    // MARK: - The file

    var encoded: [UInt8] { Self.header(kind, number, created, cost, salt) + wrapped }

    /// Decodes a slot. Returns nil if it is invalid.
    /// - Parameter bytes: `encodedLength` bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.encodedLength, let kind = Kind(rawValue: bytes[0]) else { return nil }
        let (number, created, passes, memory) = bytes.withUnsafeBytes { bytes in
            (
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)),
                Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: Int64.self)),
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self)),
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
            )
        }
        self.kind = kind
        self.number = number
        self.created = Timestamp(nanoseconds: created)
        salt = Array(bytes[32..<48])
        wrapped = Array(bytes[48...])
        cost = kind == .passphrase ? Argon2id.Cost(passes: passes, memory: memory) : nil
        guard kind != .passphrase || cost != nil, encoded == bytes else { return nil }
    }

    private static func header(
        _ kind: Kind, _ number: UInt32, _ created: Timestamp, _ cost: Argon2id.Cost?, _ salt: [UInt8]
    ) -> [UInt8] {
        var bytes: [UInt8] = [kind.rawValue, 0, 0, 0]
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: created.nanoseconds.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt64(cost?.passes ?? 0).littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: (cost?.memory ?? 0).littleEndian) { bytes.append(contentsOf: $0) }
        return bytes + salt
    }
}

extension UnlockingSecret {
    public var kind: KeySlot.Kind {
        switch self {
        case .passphrase: .passphrase
        case .recoveryCode: .recoveryCode
        case .key: .key
        case .keyringKey: .keyring
        }
    }
}
