/// Which relays may be contacted at all.
///
/// A description that comes from somebody else can name any host. Addresses of this machine and its
/// network (loopback, private, link-local) are contacted only for relays that the user configured;
/// otherwise a description could make ChatFS knock at doors inside.
public struct RelayPolicy: Sendable {
    /// Whether the user configured this relay (fingerprint, host and port).
    let isConfigured: @Sendable (RelayAddress) -> Bool

    public init(isConfigured: @escaping @Sendable (RelayAddress) -> Bool) {
        self.isConfigured = isConfigured
    }

    /// Only these may have internal addresses.
    public init(configured: [RelayAddress]) {
        let relays = Set(configured)
        self.init { relays.contains($0) }
    }

    /// For the user's own commands: naming a relay or a description approves it.
    public static let everything = RelayPolicy { _ in true }
}
