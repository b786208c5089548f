import Base

// Expiry of local drafts that stay untouched, and the sentence about it.
extension DraftMachine {
    /// Retention in seconds of `Uptime`.
    static let retention: Int64 = 7 * 86_400

    /// The expiry of an untouched draft; nil if it will be sent or is kept.
    var expiry: Expiry? {
        switch phase {
        case .written, .quiet, .local:
            if record.gap != nil || record.isPart {
                .recovery
            } else if record.hold != nil {
                // A draft that waits for its program stays.
                phase == .local ? .recovery : nil
            } else if record.reasonToStay != nil {
                // A draft with bytes may be the only copy.
                record.size == 0 ? .removal : .recovery
            } else {
                nil
            }
        case .writing, .staging, .queued, .sending, .sent, .acknowledged, .failed, .unsure, .recovered,
            .withdrawn,
            .removed:
            nil
        }
    }

    /// The expiry that is due; nil for an open draft.
    func dueExpiry(at uptime: Int64) -> Expiry? {
        isOpen || uptime - record.touched < Self.retention ? nil : expiry
    }

    /// The reason why it is not sent, and the time until its expiry.
    func problem(at uptime: Int64) -> String? {
        guard let problem = record.problem, let expiry else { return record.problem }
        let left = max(1, (Self.retention - (uptime - record.touched) + 86_399) / 86_400)
        let time = left == 1 ? "a day" : "\(left) days"
        return switch expiry {
        case .removal: "\(problem) Left alone, it is removed after \(time) of being mounted."
        case .recovery: "\(problem) Left alone, it moves to .chatfs/recovered after \(time) of being mounted."
        }
    }

    /// The draft as users see it.
    func snapshot(at uptime: Int64) -> DraftSnapshot {
        DraftSnapshot(
            name: record.name, size: record.size, modified: record.modified, caption: record.caption,
            state: state, problem: problem(at: uptime), isHeld: phase == .local && record.isWorthTelling,
            wait: phase.wait)
    }
}
