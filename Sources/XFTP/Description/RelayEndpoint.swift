/// One place of one relay: what a user approves, and by which relays are told apart. A relay with several hosts has
/// one for each.
public struct RelayEndpoint: Hashable, Sendable {
    public var fingerprint: [UInt8]
    /// In lower case.
    public var host: String
    public var port: UInt16

    public init(fingerprint: [UInt8], host: String, port: UInt16) {
        self.fingerprint = fingerprint
        self.host = host.lowercased()
        self.port = port
    }

    public static func all(of relay: RelayAddress) -> [RelayEndpoint] {
        relay.hosts.map { RelayEndpoint(fingerprint: relay.fingerprint, host: $0, port: relay.port) }
    }
}
