import Base

/// PKEY: the hello of a server, as its proxy received it.
public struct ProxiedServer: Hashable, Sendable {
    /// The id of the proxy's session with the server.
    public var sessionID: [UInt8]
    /// The versions that the proxy permits.
    public var versions: ClosedRange<UInt16>
    /// DER, leaf first.
    public var certificates: [[UInt8]]
    /// An X25519 key signed by the leaf: see `SignedKey`.
    public var signedKey: [UInt8]
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
