import Base
import Cryptography

/// Every exchange with a server, in both directions.
public enum TransportBlock {
    /// Bytes on the wire.
    public static let size = 16_384
    /// What an encrypted block holds, padded.
    static let encryptedContent = size - MessageBox.tagLength
    /// Longest content of a block: transmissions with their count and lengths.
    public static let capacity = encryptedContent - Padding.prefix
}

/// The server's first block, not encrypted beyond TLS.
public struct ServerHello: Hashable, Sendable {
    public var versions: ClosedRange<UInt16>
    /// The TLS channel binding as the server sees it.
    public var sessionID: [UInt8]
    /// Its certificates, DER, leaf first.
    public var certificates: [[UInt8]]
    /// An X25519 key signed by the leaf: see `SignedKey`.
    public var signedKey: [UInt8]

    public init(
        versions: ClosedRange<UInt16>, sessionID: [UInt8], certificates: [[UInt8]], signedKey: [UInt8]
    ) {
        self.versions = versions
        self.sessionID = sessionID
        self.certificates = certificates
        self.signedKey = signedKey
    }

    /// The block, or nil when the certificates do not fit into one.
    public func block() -> [UInt8]? {
        guard sessionID.count <= 255, certificates.count <= 255,
            (certificates + [signedKey]).allSatisfy({ $0.count < TransportBlock.size })
        else { return nil }
        var bytes: [UInt8] = []
        bytes.append(versions)
        bytes.append(byteString: sessionID)
        bytes.append(list: certificates, mayBeEmpty: true) { $0.append(large: $1) }
        bytes.append(large: signedKey)
        return Padding.pad(bytes, to: TransportBlock.size)
    }

    /// Reads the unpadded block, or nil. What follows the signed key is for later versions and not looked at.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let versions = reader.versions(), let sessionID = reader.byteString(),
            let certificates = reader.list(mayBeEmpty: true, { $0.large() }), let signedKey = reader.large()
        else { return nil }
        self.init(versions: versions, sessionID: sessionID, certificates: certificates, signedKey: signedKey)
    }
}

/// The client's answer: the version, whom it takes the server for, and its half of the key for the blocks.
public struct ClientHello: Hashable, Sendable {
    public var version: UInt16
    /// Fingerprint of the server's identity certificate, 32 bytes.
    public var identity: [UInt8]
    /// SubjectPublicKeyInfo of an X25519 key.
    public var key: [UInt8]
    /// The client is a server that hands on: then blocks are not encrypted beyond TLS.
    public var isProxy: Bool

    public init(version: UInt16, identity: [UInt8], key: [UInt8], isProxy: Bool = false) {
        self.version = version
        self.identity = identity
        self.key = key
        self.isProxy = isProxy
    }

    /// Without padding.
    public var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: version)
        bytes.append(byteString: identity)
        bytes.append(byteString: key)
        bytes.append(bool: isProxy)
        // No service.
        if version >= SMPVersion.withServices { bytes.append(optional: [UInt8]?.none) { $0 += $1 } }
        return bytes
    }

    /// Reads the unpadded block, or nil. Later fields are not looked at.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let version = reader.integer(UInt16.self), SMPVersion.servers.contains(version),
            let identity = reader.byteString(), identity.count == 32, let key = reader.agreementKey(),
            let isProxy = reader.bool()
        else { return nil }
        self.init(version: version, identity: identity, key: key, isProxy: isProxy)
    }
}

/// What TLS knows of a server once it has shaken hands, which the server's hello is compared with.
public struct TLSPeer: Hashable, Sendable {
    /// The channel binding: the client's own Finished message.
    public var sessionID: [UInt8]
    /// DER, leaf first; verified to lead to the fingerprint of the address.
    public var certificates: [[UInt8]]
    /// Of the identity certificate, 32 bytes.
    public var fingerprint: [UInt8]

    public init(sessionID: [UInt8], certificates: [[UInt8]], fingerprint: [UInt8]) {
        self.sessionID = sessionID
        self.certificates = certificates
        self.fingerprint = fingerprint
    }
}

/// What both sides know after the two hellos.
public struct SessionKeys: Sendable {
    public let version: UInt16
    public let sessionID: [UInt8]
    /// The server's key of this session, with which commands are authenticated.
    public let serverKey: [UInt8]
    let blocks: BlockCipher
    /// For a server that hands something on.
    public var handing: HandingOn?

    /// Reads the server's first block and answers it.
    /// - Parameter key: made for this connection.
    public static func agree(
        block: [UInt8], peer: TLSPeer, key: AgreementKey
    ) throws(SMPError) -> (keys: SessionKeys, hello: [UInt8]) {
        guard block.count == TransportBlock.size, let message = Padding.unpad(block),
            let hello = ServerHello(decoding: message)
        else { throw .malformed }
        guard let version = SMPVersion.agreed(hello.versions, SMPVersion.servers) else {
            throw SMPError(
                .unsupportedVersion,
                "The messaging server speaks versions \(hello.versions.text), this program \(SMPVersion.servers.text)."
            )
        }
        guard constantTimeEqual(hello.sessionID, peer.sessionID), hello.certificates == peer.certificates,
            let serverKey = SignedKey.key(hello.signedKey, signedByLeafOf: hello.certificates)
        else {
            throw SMPError(.wrongIdentity, "The messaging server is not the one that its address names.")
        }
        let secret: WipedBytes
        do throws(CryptographyError) {
            secret = try key.wipedSecret(with: serverKey)
        } catch {
            throw SMPError(.wrongIdentity, "The messaging server's key is unusable.", cause: error)
        }
        let answer = ClientHello(version: version, identity: peer.fingerprint, key: key.publicKey)
        guard let padded = Padding.pad(answer.encoded, to: TransportBlock.size) else { throw .malformed }
        let keys = SessionKeys(
            version: version, sessionID: hello.sessionID, serverKey: serverKey,
            blocks: BlockCipher(secret: secret, sessionID: hello.sessionID, side: .client),
            handing: HandingOn(hello, secret))
        return (keys, padded)
    }
}

extension SignedKey {
    /// The key of a session, if the first of these certificates vouches for it.
    static func key(_ der: [UInt8], signedByLeafOf certificates: [[UInt8]]) -> [UInt8]? {
        guard let leaf = certificates.first.flatMap(publicKey(ofCertificate:)),
            let verifying = VerifyingKey(spki: leaf), let signed = SignedKey(der),
            signed.isSigned(by: verifying)
        else { return nil }
        return signed.key
    }
}
