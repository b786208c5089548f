import Base

/// What a proxy says of the server that it has connected to: the hello of that, as the proxy had it.
public struct ProxiedServer: Hashable, Sendable {
    /// Of the proxy's session with it.
    public var sessionID: [UInt8]
    /// Those that the proxy lets through.
    public var versions: ClosedRange<UInt16>
    /// DER, leaf first.
    public var certificates: [[UInt8]]
    /// An X25519 key signed by the leaf: see `SignedKey`.
    public var signedKey: [UInt8]

    public init(
        sessionID: [UInt8], versions: ClosedRange<UInt16>, certificates: [[UInt8]], signedKey: [UInt8]
    ) {
        self.sessionID = sessionID
        self.versions = versions
        self.certificates = certificates
        self.signedKey = signedKey
    }
}

extension ByteReader {
    mutating func proxiedServer() -> ProxiedServer? {
        guard let sessionID = byteString(), !sessionID.isEmpty, let versions = versions(),
            let certificates = list({ $0.large() }), let signedKey = large()
        else { return nil }
        return ProxiedServer(
            sessionID: sessionID, versions: versions, certificates: certificates, signedKey: signedKey)
    }
}

extension [UInt8] {
    mutating func append(_ server: ProxiedServer) {
        append(byteString: server.sessionID)
        append(server.versions)
        append(list: server.certificates) { $0.append(large: $1) }
        append(large: server.signedKey)
    }
}
