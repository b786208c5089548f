/// The TLS settings of a client. Always TLS 1.3 with TLS_CHACHA20_POLY1305_SHA256, groups X25519 and X448, signatures
/// Ed25519 and Ed448, no server name and no resumption, as in the "Transport protocol" of XFTP.
public struct TLSClientSettings: Sendable {
    /// SHA-256 of the DER of the identity certificate, the second of the chain: 32 bytes.
    public var identityFingerprint: [UInt8]
    /// The offered application protocols, best first.
    public var applicationProtocols: [String]

    public init(identityFingerprint: [UInt8], applicationProtocols: [String] = ["xftp/1"]) {
        self.identityFingerprint = identityFingerprint
        self.applicationProtocols = applicationProtocols
    }
}

/// The TLS settings of a server.
public struct TLSServerSettings: Sendable {
    public var identity: ServerIdentity
    /// The accepted application protocols. A client without one of them is refused. If empty, none is negotiated.
    public var applicationProtocols: [String]
    /// The required client certificates, or nil for none.
    public var client: ClientIdentity?

    public init(
        identity: ServerIdentity, applicationProtocols: [String] = ["xftp/1"], client: ClientIdentity? = nil
    ) {
        self.identity = identity
        self.applicationProtocols = applicationProtocols
        self.client = client
    }
}
