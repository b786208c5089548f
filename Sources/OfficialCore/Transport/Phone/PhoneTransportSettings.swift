import Base
import Network
import Posix
import RemoteControl

/// The network address of this computer for a phone.
public struct PhonePlace: Hashable, Sendable {
    /// Listening address; port 0 for any.
    public var endpoint: Endpoint
    /// Host in the link, if it differs from the listening address.
    public var host: String?
    public var port: UInt16?

    public init(endpoint: Endpoint, host: String? = nil, port: UInt16? = nil) {
        (self.endpoint, self.host, self.port) = (endpoint, host, port)
    }
}

/// Progress of a pairing or session for the user. Reported on threads of the transport; receivers must return
/// at once.
public enum PhoneEvent: Sendable {
    /// Waiting for the phone at this link.
    /// - Parameter isKnown: True for a paired phone, which finds the link by itself in the same network.
    case waiting(link: String, at: Endpoint, isKnown: Bool)
    /// A phone is connected; its user compares this code.
    case code(SessionCode)
    /// The session has started, with this user-chosen device name.
    case connected(device: String)
    /// The session ended, or a device left before it began.
    case left(String)
    /// Listening failed; it is retried.
    case failed(String)
}

/// Settings for waiting for a phone.
public struct PhoneTransportSettings: Sendable {
    /// Called before each link, because networks change. Blocks briefly.
    public var place: @Sendable () -> PhonePlace
    public var versions: AppVersionRange
    /// Name of this computer on the phone.
    public var computer: DeviceName
    public var observe: @Sendable (PhoneEvent) -> Void = { _ in }
    /// Creates an empty unlinked file for events that are not yet processed.
    public var makeFile: @Sendable () throws(SystemError) -> OpenFile
    /// Interval of checks for a changed address while no phone is connected.
    public var lookInterval = Duration.seconds(5)
    /// Interval of announcements after the first minute, which has one per second. A phone searches for 30 s.
    public var announceInterval = Duration.seconds(5)
    /// When a phone that does not answer counts as silent.
    public var limits = ReversedServer.Limits()
    /// Interval of the checks for that.
    public var silenceInterval = Duration.milliseconds(500)

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
