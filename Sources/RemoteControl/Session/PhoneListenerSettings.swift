import Network

/// Where a phone is waited for, and what its link says.
public struct PhoneListenerSettings: Sendable {
    /// Where to listen; port 0 for any.
    public var endpoint: Endpoint
    /// What the link says instead, where the phone reaches this computer otherwise; nil: the same.
    public var advertisedHost: String?
    public var advertisedPort: UInt16?
    public var versions: AppVersionRange
    public var name: DeviceName
    /// How long a person may compare codes. A stranger who connects first keeps the phone out for as long.
    public var confirmation = Duration.seconds(300)
    public var limits = ReversedServer.Limits()

    public init(endpoint: Endpoint, versions: AppVersionRange, name: DeviceName) {
        self.endpoint = endpoint
        self.versions = versions
        self.name = name
    }
}
