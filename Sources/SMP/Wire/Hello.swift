import Base

/// The client's first block: the version, the expected server, and the client's session key.
public struct ClientHello: Hashable, Sendable {
    public var version: UInt16
    /// The fingerprint of the server's identity certificate, 32 bytes.
    public var identity: [UInt8]
    /// SubjectPublicKeyInfo of an X25519 key.
    public var key: [UInt8]
    /// Whether the client is a forwarding server. Its blocks have no encryption beyond TLS.
    public var isProxy = false
}

extension ClientHello {
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
