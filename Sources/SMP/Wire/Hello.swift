import Base
import Cryptography

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
