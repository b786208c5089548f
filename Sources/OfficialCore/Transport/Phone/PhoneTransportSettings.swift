import Base
import Network
import Posix
import RemoteControl

/// Where a phone finds this computer.
public struct PhonePlace: Hashable, Sendable {
    /// Where to listen; port 0 for any.
    public var endpoint: Endpoint
    /// What the link names instead, where the phone reaches this computer otherwise.
    public var host: String?
    public var port: UInt16?

    public init(endpoint: Endpoint, host: String? = nil, port: UInt16? = nil) {
        (self.endpoint, self.host, self.port) = (endpoint, host, port)
    }
}

/// What the user of a phone is shown, or told. Called on threads of the transport; returns at once.
public enum PhoneEvent: Sendable {
    /// The phone is waited for at this link.
    /// - Parameter isKnown: whether it was here before, and hears of the link by itself in the same network.
    case waiting(link: String, at: Endpoint, isKnown: Bool)
    /// A phone is connected, and its user compares this code.
    case code(SessionCode)
    /// The session has begun with the device of this name, which its user wrote.
    case connected(device: String)
    /// It is over, or nothing came of a connection.
    case left(String)
    /// Nobody can be listened to now; it is tried again.
    case failed(String)
}

/// How a `PhoneTransport` waits for its phone.
public struct PhoneTransportSettings: Sendable {
    /// Asked before each link, since networks change. Blocks shortly.
    public var place: @Sendable () -> PhonePlace
    public var versions: AppVersionRange
    /// As the phone shows this computer.
    public var computer: DeviceName
    public var observe: @Sendable (PhoneEvent) -> Void = { _ in }
    /// An empty file without a name for events that are not taken in yet.
    public var makeFile: @Sendable () throws(SystemError) -> OpenFile
    /// How often the place is looked at while nobody is connected.
    public var lookInterval = Duration.seconds(5)
    /// From one announcement to the next, after a minute of one each second: a phone searches for 30 seconds.
    public var announceInterval = Duration.seconds(5)

    public init(
        place: @escaping @Sendable () -> PhonePlace, versions: AppVersionRange, computer: DeviceName,
        makeFile: @escaping @Sendable () throws(SystemError) -> OpenFile
    ) {
        self.place = place
        self.versions = versions
        self.computer = computer
        self.makeFile = makeFile
    }
}
