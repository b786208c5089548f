import Base
import ChatCore
import Glibc

/// What removing a received or sent entry does (`--delete`).
public enum DeletionPolicy: String, CaseIterable, Sendable {
    /// EPERM.
    case refused = "never"
    /// The message is deleted for this user only.
    case own = "self"
    /// The message is deleted for everyone: own messages of the last 24 hours.
    case everyone
}

/// Holds back a runaway `rm -r`: messages that are gone for everyone do not come back.
struct DeletionBudget {
    static let most = 20
    static let period = Duration.seconds(60)
    private var recent: [ContinuousClock.Instant] = []

    /// Counts one deletion, or says that there were too many in the last minute.
    mutating func take(at now: ContinuousClock.Instant = .now) -> Bool {
        recent.removeAll { $0.duration(to: now) >= Self.period }
        guard recent.count < Self.most else { return false }
        recent.append(now)
        return true
    }
}
