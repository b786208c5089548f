import Base

// What becomes of a draft that stays here and that nobody touches, and the sentence that says so.
extension DraftMachine {
    /// Seconds of `Uptime` for which it is kept.
    static let retention: Int64 = 7 * 86_400

    /// What becomes of it when it is left alone; nil for what will be sent, or is kept.
    var expiry: Expiry? {
        switch phase {
        case .written, .quiet, .local:
            if record.gap != nil || record.isPart {
                .recovery
            } else if record.hold != nil {
                // One that waits for its program stays.
                phase == .local ? .recovery : nil
            } else if record.reasonToStay != nil {
                // What has bytes may be the only copy.
                record.size == 0 ? .removal : .recovery
            } else {
                nil
            }
        default: nil
        }
    }

    /// What is due now. Nil for one that somebody has open.
    func dueExpiry(at uptime: Int64) -> Expiry? {
        isOpen || uptime - record.touched < Self.retention ? nil : expiry
    }

    /// Why it is not sent, and when it will go.
    func problem(at uptime: Int64) -> String? {
        guard let problem = record.problem, let expiry else { return record.problem }
        let left = max(1, (Self.retention - (uptime - record.touched) + 86_399) / 86_400)
        let time = left == 1 ? "a day" : "\(left) days"
        return switch expiry {
        case .removal: "\(problem) Left alone, it is removed after \(time) of being mounted."
        case .recovery: "\(problem) Left alone, it moves to .chatfs/recovered after \(time) of being mounted."
        }
    }

    /// All that users see of it.
    func snapshot(at uptime: Int64) -> DraftSnapshot {
        DraftSnapshot(
            name: record.name, size: record.size, modified: record.modified, caption: record.caption,
            state: state, problem: problem(at: uptime), isHeld: phase == .local && record.isWorthTelling)
    }
}
