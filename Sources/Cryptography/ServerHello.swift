import Base

/// The first block of a server of messages or files, protected by TLS alone.
public struct ServerHello: Hashable, Sendable {
    public var versions: ClosedRange<UInt16>
    /// The TLS channel binding of the server.
    public var sessionID: [UInt8]
    /// The server's certificates as DER, leaf first.
    public var certificates: [[UInt8]]
    /// An X25519 key signed by the leaf: see `SignedKey`.
    public var signedKey: [UInt8]

    private static let blockSize = 16_384

    public init(
        versions: ClosedRange<UInt16>, sessionID: [UInt8], certificates: [[UInt8]], signedKey: [UInt8]
    ) {
        self.versions = versions
        self.sessionID = sessionID
        self.certificates = certificates
        self.signedKey = signedKey
    }

    /// Returns the block, or nil if the certificates do not fit.
    /// - Parameter ending: Further fields of the protocol.
    public func block(ending: [UInt8] = []) -> [UInt8]? {
        guard sessionID.count <= 255, certificates.count <= 255,
            (certificates + [signedKey]).allSatisfy({ $0.count < Self.blockSize })
        else { return nil }
        var bytes: [UInt8] = []
        bytes.append(bigEndian: versions.lowerBound)
        bytes.append(bigEndian: versions.upperBound)
        bytes.append(byteString: sessionID)
        bytes.append(list: certificates, mayBeEmpty: true) { $0.append(large: $1) }
        bytes.append(large: signedKey)
        return Padding.pad(bytes + ending, to: Self.blockSize)
    }

    /// Reads the unpadded block. Returns nil if it is malformed. Ignores fields after the signed key.
    public init?(decoding message: [UInt8]) {
        var reader = ByteReader(message)
        guard let lowest = reader.integer(UInt16.self), let highest = reader.integer(UInt16.self),
            lowest <= highest, let sessionID = reader.byteString(),
            let certificates = reader.list(mayBeEmpty: true, { $0.large() }), let signedKey = reader.large()
        else { return nil }
        self.init(
            versions: lowest...highest, sessionID: sessionID, certificates: certificates,
            signedKey: signedKey)
    }
}
