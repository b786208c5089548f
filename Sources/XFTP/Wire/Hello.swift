import Base

/// The versions of XFTP that this program speaks: 1 (first), 2 (signed commands), 3 (ERR BLOCKED).
public enum XFTPVersion {
    public static let supported: ClosedRange<UInt16> = 1...3
}

/// The relay's answer to the first, empty request of a connection.
public struct ServerHello: Hashable, Sendable {
    public var versions: ClosedRange<UInt16>
    /// The TLS channel binding as the relay sees it.
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

    /// Reads the unpadded block, or nil. What follows the signed key (proof for browsers, later
    /// fields, or nothing in older relays) is not looked at.
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

/// The client's second request: the version both speak, and whom it takes the relay for.
public struct ClientHello: Hashable, Sendable {
    public var version: UInt16
    /// Fingerprint of the relay's identity certificate, 32 bytes.
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

    /// Reads the unpadded block, or nil. Later fields are not looked at.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let version = reader.integer(UInt16.self), let identity = reader.byteString(),
            identity.count == 32
        else { return nil }
        self.init(version: version, identity: identity)
    }
}
