import Base

/// The supported versions of XFTP: 1 (first), 2 (signed commands), 3 (ERR BLOCKED).
public enum XFTPVersion {
    public static let supported: ClosedRange<UInt16> = 1...3
}

/// The relay's response to the first, empty request of a connection.
public struct ServerHello: Hashable, Sendable {
    public var versions: ClosedRange<UInt16>
    /// The TLS channel binding on the relay's side.
    public var sessionID: [UInt8]
    /// The relay's certificates, DER, leaf first.
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

    /// Returns the block, or nil if the certificates are too long.
    public func block() -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: versions.lowerBound)
        bytes.append(bigEndian: versions.upperBound)
        bytes.append(byteString: sessionID)
        guard certificates.count <= 255, certificates.allSatisfy({ $0.count <= Block.capacity }),
            signedKey.count <= Block.capacity
        else { return nil }
        bytes.append(UInt8(certificates.count))
        for certificate in certificates { bytes.append(large: certificate) }
        bytes.append(large: signedKey)
        bytes.append(byteString: [])  // no proof for browsers
        return Block.pad(bytes)
    }

    /// Decodes an unpadded block. Returns nil if it is invalid. Ignores bytes after the signed key, such as a proof for
    /// browsers or later fields.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let lowest = reader.integer(UInt16.self), let highest = reader.integer(UInt16.self),
            lowest <= highest, let sessionID = reader.byteString(), let count = reader.byte()
        else { return nil }
        var certificates: [[UInt8]] = []
        for _ in 0..<count {
            guard let certificate = reader.large() else { return nil }
            certificates.append(certificate)
        }
        guard let signedKey = reader.large() else { return nil }
        self.init(
            versions: lowest...highest, sessionID: sessionID, certificates: certificates,
            signedKey: signedKey)
    }
}

/// The client's second request: the chosen version and the expected identity of the relay.
public struct ClientHello: Hashable, Sendable {
    public var version: UInt16
    /// The fingerprint of the relay's identity certificate, 32 bytes.
    public var identity: [UInt8]

    public init(version: UInt16, identity: [UInt8]) {
        self.version = version
        self.identity = identity
    }

    public func block() -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: version)
        bytes.append(byteString: identity)
        return Block.pad(bytes)
    }

    /// Decodes an unpadded block. Returns nil if it is invalid. Ignores later fields.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let version = reader.integer(UInt16.self), let identity = reader.byteString(),
            identity.count == 32
        else { return nil }
        self.init(version: version, identity: identity)
    }
}
