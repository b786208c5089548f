/// The unfinished entries in numbers, for programs that ask often. A pure value.
public struct SyncStatus: Hashable, Sendable {
    /// Entries that are transferring or waiting.
    public private(set) var pending = 0
    /// Entries that continue only after their user's decision.
    public private(set) var failed = 0
    /// A sentence about the first entry with a problem.
    public private(set) var problem: String?
    /// A sentence that tells why the core is unreachable; nil if it is reachable.
    public internal(set) var coreProblem: String?

    public init() {}

    mutating func add(_ report: EntryReport) {
        guard report.isTransfer else { return }
        problem = problem ?? report.error
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
        problem = problem ?? other.problem
    }
}
