import Base

/// A rule's decision on a file at one moment.
public enum KeepVerdict: Hashable, Sendable {
    /// No rule matches.
    case leave
    /// Receive from this time on.
    case later(Timestamp)
    case receive
    /// Receive once the obstacle is gone.
    case wait(KeepObstacle)
}

/// The reason that a matching file is not received.
public enum KeepObstacle: String, Hashable, Sendable, CaseIterable {
    case metered
    /// Too little disk space would stay free.
    case disk
    case approval
    /// The sender's upload is incomplete.
    case upload
    /// The last attempt failed; it is retried.
    case failure
}

/// The conditions of a decision.
public struct KeepConditions: Hashable, Sendable {
    /// True if the connection is reported as metered.
    public var isMetered: Bool
    /// Free disk space in bytes, minus that of running downloads.
    public var free: UInt64

    public init(isMetered: Bool = false, free: UInt64 = .max) {
        self.isMetered = isMetered
        self.free = free
    }
}

/// The times of the rules, relative to a file's expiry.
public enum KeepTimes {
    /// Start of receiving files that are not received on arrival.
    public static let late = Duration.seconds(24 * 3600)
    /// Start of notices about files that are not local.
    public static let notice = Duration.seconds(12 * 3600)
    /// Time after expiry during which a file may still exist: relays delete every two hours.
    public static let grace = Duration.seconds(3 * 3600)
    /// Time after expiry during which the next mount still notifies the user.
    public static let memory = Duration.seconds(7 * 24 * 3600)
}

extension KeepRules {
    public func verdict(
        on candidate: KeepCandidate, _ conditions: KeepConditions, now: Timestamp
    ) -> KeepVerdict {
        let rule = rule(for: candidate.chat)
        switch rule.kinds {
        case .never: return .leave
        case .media where !candidate.isMedia: return .leave
        case .media, .all: break
        }
        guard candidate.size <= rule.largest else { return .leave }
        // Another machine's copy neither expires nor comes over the internet.
        if candidate.phase != .elsewhere {
            let start = candidate.expires.advanced(by: .zero - KeepTimes.late)
            if rule.moment == .expiring, now < start { return .later(start) }
            if conditions.isMetered, !rule.usesMetered { return .wait(.metered) }
        }
        let (needed, overflow) = candidate.size.addingReportingOverflow(rule.minimumFree)
        if overflow || needed > conditions.free { return .wait(.disk) }
        return .receive
    }
}
