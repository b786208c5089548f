/// An effect of `NotificationMachine`. Effects are performed in order.
public enum NotificationEffect: Hashable, Sendable {
    /// Connect to the bus.
    case start
    /// Disconnect from a bus that does not answer.
    case stop
    /// Store the state before the following effects.
    case record(NotificationRecord)
    /// Show a notification, replacing one with the same token.
    case show(token: UInt64, NotificationText)
    case close(token: UInt64)
    /// Report the number of unread arrivals.
    case count(Int)
    case perform(NotificationAction)
}

/// An answer of the notification service.
public enum NotificationAnswer: Hashable, Sendable {
    /// A service is available, for the first time or after another one has gone.
    case ready(capabilities: [String])
    /// The bus has no service at present and will report one.
    case noService
    case shown(token: UInt64)
    case failed(token: UInt64)
    case closed(token: UInt64)
    /// Clicked (0), or a button pressed (from 1).
    case acted(token: UInt64, Int = 1)
    /// No desktop program shows files or folders.
    case notShown
    /// The bus is unavailable or has closed.
    case ended
}
