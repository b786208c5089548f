import Base

/// What a rule says of a file at a moment.
public enum KeepVerdict: Hashable, Sendable {
    /// No rule wants it.
    case leave
    /// It is to be received from then on.
    case later(Timestamp)
    case receive
    /// It is to be received, but not now.
    case wait(KeepObstacle)
}

/// Why a file that a rule wants does not come.
public enum KeepObstacle: String, Hashable, Sendable, CaseIterable {
    case metered
    /// Not enough of the disk would stay free.
    case disk
    case approval
    /// Its sender has not finished the upload.
    case upload
    /// It was tried and failed, and is tried again.
    case failure
}

/// How things are at a moment.
public struct KeepConditions: Hashable, Sendable {
    /// The connection is paid for by what goes over it, as far as somebody says so.
    public var isMetered: Bool
    /// Bytes of the disk that are free and not yet promised to a file on its way.
    public var free: UInt64

    public init(isMetered: Bool = false, free: UInt64 = .max) {
        self.isMetered = isMetered
        self.free = free
    }
}

/// The times by which rules go, all counted back from the moment at which relays drop a file.
public enum KeepTimes {
    /// From when on what is not kept at arrival is received.
    public static let late = Duration.seconds(24 * 3600)
    /// From when on the user is told of what is not here.
    public static let notice = Duration.seconds(12 * 3600)
    /// How long after it the file may still be there: relays look for old files every two hours.
    public static let grace = Duration.seconds(3 * 3600)
    /// How long after it the user is still told, by the next mount.
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
        let start = candidate.expires.advanced(by: .zero - KeepTimes.late)
        if rule.moment == .expiring, now < start { return .later(start) }
        if conditions.isMetered, !rule.usesMetered { return .wait(.metered) }
        let (needed, overflow) = candidate.size.addingReportingOverflow(rule.minimumFree)
        if overflow || needed > conditions.free { return .wait(.disk) }
        return .receive
    }
}
