/// An approved place of a server. Servers are compared by their places; a server with several hosts has one for each.
public struct ServerPlace: Hashable, Sendable {
    /// SHA-256 of the server's identity certificate, 32 bytes.
    public var fingerprint: [UInt8]
    /// Lower case.
    public var host: String
    public var port: UInt16

    public init(fingerprint: [UInt8], host: String, port: UInt16) {
        self.fingerprint = fingerprint
        self.host = host.lowercased()
        self.port = port
    }
}
