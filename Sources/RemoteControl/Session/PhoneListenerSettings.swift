import Network

/// The listening address for a phone, and the content of its link.
public struct PhoneListenerSettings: Sendable {
    /// The address to listen on; port 0 for any.
    public var endpoint: Endpoint
    /// The host and port in the link if they differ, otherwise nil.
    public var advertisedHost: String?
    public var advertisedPort: UInt16?
    public var versions: AppVersionRange
    public var name: DeviceName
    /// The time limit for comparing codes. A stranger that connects first blocks the phone for as long.
    public var confirmation = Duration.seconds(300)
    /// The maximum time without progress of a request other than for an event: the phone gives it up after 60 silent
    /// seconds.
    public var timeout = Duration.seconds(65)
    public var limits = ReversedServer.Limits()

    public init(endpoint: Endpoint, versions: AppVersionRange, name: DeviceName) {
        self.endpoint = endpoint
        self.versions = versions
        self.name = name
    }
}
