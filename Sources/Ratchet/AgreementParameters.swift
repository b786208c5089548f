import Base
import Cryptography

/// The public keys that one side gives for the first agreement or a new one: two of X448 and, from version 3 on, what
/// it says of its KEM.
public struct AgreementParameters: Hashable, Sendable {
    /// The version that is used, or the highest one that is offered.
    public var version: UInt16
    public var first: X448PublicKey
    public var second: X448PublicKey
    /// nil with version 2.
    public var kem: KEMOffer?

    public init(version: UInt16, first: X448PublicKey, second: X448PublicKey, kem: KEMOffer? = nil) {
        self.version = version
        self.first = first
        self.second = second
        self.kem = version >= RatchetVersion.withKEM ? kem : nil
    }

    public var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: version)
        bytes.append(byteString: first.spki)
        bytes.append(byteString: second.spki)
        if version >= RatchetVersion.withKEM { bytes.append(optional: kem) { $0.append($1) } }
        return bytes
    }

    /// Reads them from the front of more.
    /// - Throws: `.malformed`; `.unsupportedVersion` for one that this program does not know: what would follow cannot
    ///   be known then.
    public init(from reader: inout ByteReader) throws(RatchetError) {
        guard let version = reader.integer(UInt16.self) else { throw .malformed }
        guard RatchetVersion.supported.contains(version) else {
            throw RatchetError(
                .unsupportedVersion, "The contact's program encrypts in a way that ChatFS does not know.")
        }
        guard let first = reader.x448Key(), let second = reader.x448Key() else { throw .malformed }
        self.init(version: version, first: first, second: second)
        guard version >= RatchetVersion.withKEM else { return }
        guard let kem = reader.optional({ $0.kemOffer() }) else { throw .malformed }
        self.kem = kem
    }

    /// SHA-256 of both raw keys: by comparing theirs, two sides that agree anew know which of them is which.
    public var hash: [UInt8] { SHA256.hash(first.rawValue + second.rawValue) }
}

/// The private side of `AgreementParameters`.
public struct AgreementKeys: Sendable {
    public let first: X448Key
    public let second: X448Key
    /// Whose public half was proposed.
    public var kem: KEMKey?

    public init(first: X448Key, second: X448Key, kem: KEMKey? = nil) {
        self.first = first
        self.second = second
        self.kem = kem
    }

    public static func generate(kem: KEMKey? = nil, random: some RandomSource = SystemRandomSource())
        -> AgreementKeys
    {
        AgreementKeys(first: .generate(random: random), second: .generate(random: random), kem: kem)
    }

    /// What an inviter gives: the KEM's key, where there is one, is proposed.
    public func parameters(version: UInt16) -> AgreementParameters {
        AgreementParameters(
            version: version, first: first.publicKey, second: second.publicKey,
            kem: kem.map { .proposed(key: $0.publicKey) })
    }
}
