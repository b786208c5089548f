/// What a client asks of a TLS connection. Always TLS 1.3 with TLS_CHACHA20_POLY1305_SHA256, groups
/// X25519 and X448, signatures Ed25519 and Ed448, no server name and no resumption: what XFTP relays
/// speak (XFTP protocol, "Transport protocol").
public struct TLSClientSettings: Sendable {
    /// SHA-256 of the DER of the identity certificate, the second of the chain: 32 bytes.
    public var identityFingerprint: [UInt8]
    /// Application protocols offered, best first.
    public var applicationProtocols: [String]

    public init(identityFingerprint: [UInt8], applicationProtocols: [String] = ["xftp/1"]) {
        self.identityFingerprint = identityFingerprint
        self.applicationProtocols = applicationProtocols
    }
}

/// What a server shows on a TLS connection.
public struct TLSServerSettings: Sendable {
    public var identity: ServerIdentity
    /// Application protocols accepted; a client that offers none of them, or none at all, is refused. Empty: nothing is
    /// agreed on, whatever is offered.
    public var applicationProtocols: [String]
    /// What clients have to show within the handshake; nil: nothing.
    public var client: ClientIdentity?

    public init(
        identity: ServerIdentity, applicationProtocols: [String] = ["xftp/1"], client: ClientIdentity? = nil
    ) {
        self.identity = identity
        self.applicationProtocols = applicationProtocols
        self.client = client
    }
}
