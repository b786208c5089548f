import Base
import Cryptography

/// One side's public keys for a key agreement: two X448 keys and, from version 3, a KEM offer.
public struct AgreementParameters: Hashable, Sendable {
    /// The version in use, or the highest version offered.
    public var version: UInt16
    public var first: X448PublicKey
    public var second: X448PublicKey
    /// Always nil in version 2.
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

    /// Reads parameters and leaves the rest in the reader.
    /// - Throws: `.malformed`; `.unsupportedVersion` for an unknown version, whose fields cannot be read.
    public init(from reader: inout ByteReader) throws(RatchetError) {
        guard let version = reader.integer(UInt16.self) else { throw .malformed }
        guard RatchetVersion.supported.contains(version) else {
            throw RatchetError(
                .unsupportedVersion, "The contact's program uses an encryption version that is not supported."
            )
        }
        guard let first = reader.x448Key(), let second = reader.x448Key() else { throw .malformed }
        self.init(version: version, first: first, second: second)
        guard version >= RatchetVersion.withKEM else { return }
        guard let kem = reader.optional({ $0.kemOffer() }) else { throw .malformed }
        self.kem = kem
    }

    /// The SHA-256 of both raw keys. Comparing hashes assigns the roles of inviter and joiner in a resynchronization.
    public var hash: [UInt8] { SHA256.hash(first.rawValue + second.rawValue) }
}

/// The private keys of `AgreementParameters`.
public struct AgreementKeys: Sendable {
    public let first: X448Key
    public let second: X448Key
    /// The key pair whose public key was proposed.
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

    /// Returns the inviter's parameters. They propose the KEM key, if any.
    public func parameters(version: UInt16) -> AgreementParameters {
        AgreementParameters(
            version: version, first: first.publicKey, second: second.publicKey,
            kem: kem.map { .proposed(key: $0.publicKey) })
    }
}
