import Base
import ChatCore

/// The unfinished entries in numbers, for programs that ask often. A pure value.
public struct SyncStatus: Hashable, Sendable {
    /// Entries that are transferring or waiting.
    public private(set) var pending = 0
    /// Entries that continue only after their user's decision.
    public private(set) var failed = 0
    /// A sentence about the first entry with a problem.
    public private(set) var problem: String?
    /// That entry, if it is an item.
    private(set) var problemItem: ChatItem?
    /// Time of the next attempt for that entry; nil if none is planned.
    public internal(set) var nextTry: Timestamp?
    /// A sentence that tells why the core is unreachable; nil if it is reachable.
    public internal(set) var coreProblem: String?

    public init() {}

    mutating func add(_ report: EntryReport, of item: ChatItem? = nil) {
        guard report.isTransfer else { return }
        note(report.error, of: item)
        switch report.state {
        // Not sent automatically.
        case .draft where report.problem != nil: failed += 1
        case .receiving, .draft, .queued, .sending: pending += 1
        case .failed, .unsure, .recovered: failed += 1
        // A remote entry waits for its user, such as for approval.
        case .remote, .stored, .hydrated, .sent, .delivered, .expired, .cancelled, .blocked: break
        }
    }

    mutating func add(_ other: SyncStatus) {
        pending += other.pending
        failed += other.failed
        note(other.problem, of: other.problemItem)
    }

    private mutating func note(_ problem: String?, of item: ChatItem?) {
        guard self.problem == nil, let problem else { return }
        (self.problem, problemItem) = (problem, item)
    }
}
