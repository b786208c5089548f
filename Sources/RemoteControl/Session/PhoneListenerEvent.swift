import Network

/// An event of a `PhoneListener`, on the thread of a connection.
public enum PhoneListenerEvent: Sendable {
    /// A phone is connected; its user compares the code.
    case confirm(SessionCode)
    /// The phone left, its user refused, or its hello was invalid. The link can be used again.
    case gaveUp(RemoteControlError)
    /// The connection of a stranger or of an incompatible phone failed.
    case refused(NetworkError)
    /// The session has begun.
    case connected(PhoneConnection)
    /// The session ended; nil if this side ended it.
    case ended(NetworkError?)
}
