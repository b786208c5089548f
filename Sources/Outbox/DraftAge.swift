import Base

// What becomes of a draft that stays here and that nobody touches.
extension Draft {
    enum Fate: Equatable {
        case removal
        /// Incomplete: it moves to `.chatfs/recovered`, where it is kept.
        case recovery
    }

    /// Seconds of `SeenTime` after which it comes.
    static let longestStay: Int64 = 7 * 86_400

    /// What is due now; it may be written the next moment, unless this is asked under its turn. Nil for one that somebody has open.
    var dueFate: Fate? {
        let seen = room.seen.seconds
        return record.withLock { record in
            guard record.writers.isEmpty, record.readers == 0, seen - record.entry.touched >= Self.longestStay
            else { return nil }
            return record.fate
        }
    }

    /// Under the turn: it moves to `.chatfs/recovered`.
    func noteRecovered() throws {
        var entry = record.withLock { $0.entry }
        entry.state = .recovered
        entry.touched = room.seen.seconds
        try room.journal.apply([entry])
        record.withLock { record in
            record.entry = entry
            record.phase = .recovered
        }
        room.quiet.cancel(self)
    }
}

extension Draft.Record {
    /// What becomes of it when it is left alone; nil for what will be sent, or is kept.
    var fate: Draft.Fate? {
        switch phase {
        case .draft where entry.state == .closed && entry.gap != nil: .recovery
        case .draft where entry.state == .closed && reasonToStay != nil: .removal
        case .recovered where TemporaryName.matches(entry.name): .removal
        default: nil
        }
    }

    /// Why it is not sent, and when it will go.
    func problem(seen: Int64) -> String? {
        guard let problem = entry.problem, let fate else { return entry.problem }
        let left = max(1, (Draft.longestStay - (seen - entry.touched) + 86_399) / 86_400)
        let time = left == 1 ? "a day" : "\(left) days"
        return switch fate {
        case .removal: "\(problem) Left alone, it is removed after \(time) of being mounted."
        case .recovery: "\(problem) Left alone, it moves to .chatfs/recovered after \(time) of being mounted."
        }
    }
}
