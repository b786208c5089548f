/// What `NotificationMachine` wants done, in this order.
public enum NotificationEffect: Hashable, Sendable {
    /// Connect to the bus.
    case start
    /// Let go of it: it does not answer.
    case stop
    /// Kept before anything that follows is done.
    case record(ToldNotifications)
    /// Shown, in the place of what has the same token.
    case show(token: UInt64, NotificationText)
    case close(token: UInt64)
    /// How much nobody has read.
    case count(Int)
    case perform(NotificationAction)
}

/// What the other side says to `NotificationMachine`.
public enum NotificationAnswer: Hashable, Sendable {
    /// A notification service is there and can do this; also a new one after another has gone.
    case ready(capabilities: [String])
    /// The bus is there, the service is not. It will be told of.
    case noService
    case shown(token: UInt64)
    case failed(token: UInt64)
    case closed(token: UInt64)
    /// It was clicked (0), or a button of it, by its number from 1 on.
    case acted(token: UInt64, Int = 1)
    /// Nothing on this desktop shows files or folders.
    case notShown
    /// There is no bus, or none any more.
    case ended
}
