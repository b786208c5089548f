import Network

/// What happens at a `PhoneListener`. Told on the threads of its connections.
public enum PhoneListenerEvent: Sendable {
    /// A phone is connected: its user compares the code with the one on its screen.
    case confirm(SessionCode)
    /// The phone left, its user said no, or it greeted with something else. The link can be used again.
    case gaveUp(RemoteControlError)
    /// A connection of somebody else, or of a phone that cannot be understood, came to nothing.
    case refused(NetworkError)
    /// The session has begun.
    case connected(PhoneConnection)
    /// It is over; nil: this side ended it.
    case ended(NetworkError?)
}
