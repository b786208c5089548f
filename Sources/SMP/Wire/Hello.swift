import Base
import Cryptography

/// The server's first block, protected by TLS alone.
public struct ServerHello: Hashable, Sendable {
    public var versions: ClosedRange<UInt16>
    /// The TLS channel binding of the server.
    public var sessionID: [UInt8]
    /// The server's certificates as DER, leaf first.
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

    /// Returns the block, or nil if the certificates do not fit.
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

    /// Reads the unpadded block. Returns nil if it is malformed. Ignores fields of later versions after the signed key.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let versions = reader.versions(), let sessionID = reader.byteString(),
            let certificates = reader.list(mayBeEmpty: true, { $0.large() }), let signedKey = reader.large()
        else { return nil }
        self.init(versions: versions, sessionID: sessionID, certificates: certificates, signedKey: signedKey)
    }
}

/// The client's first block: the version, the expected server, and the client's session key.
public struct ClientHello: Hashable, Sendable {
    public var version: UInt16
    /// The fingerprint of the server's identity certificate, 32 bytes.
    public var identity: [UInt8]
    /// SubjectPublicKeyInfo of an X25519 key.
    public var key: [UInt8]
    /// Whether the client is a forwarding server. Its blocks have no encryption beyond TLS.
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

    /// Reads the unpadded block. Returns nil if it is malformed. Ignores later fields.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let version = reader.integer(UInt16.self), SMPVersion.servers.contains(version),
            let identity = reader.byteString(), identity.count == 32, let key = reader.agreementKey(),
            let isProxy = reader.bool()
        else { return nil }
        self.init(version: version, identity: identity, key: key, isProxy: isProxy)
    }
}
