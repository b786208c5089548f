import Base
import ChatCore
import Hydration
import Namespace
import Outbox

/// State, progress and problem of an entry, for extended attributes and `status.json`.
struct EntryReport {
    var state: EntryState
    /// Percentage; 100 when done.
    var progress: Int
    var problem: String?
    /// The problem without the time of the next attempt.
    var cause: String?
    /// Time of the next attempt, if one is planned.
    var nextTry: Timestamp?
    /// The next step while nothing is wrong; nil if bytes move, or nothing is left to do.
    var wait: String?

    var error: String? { cause ?? problem }

    /// True if the entry is transferring, waiting or failed.
    var isTransfer: Bool {
        switch state {
        case .remote: problem != nil
        case .stored, .hydrated, .sent, .delivered, .cancelled, .expired, .blocked: false
        case .receiving, .draft, .queued, .sending, .unsure, .failed, .recovered: true
        }
    }
}

/// Combines the core's state of an entry with the state of its local bytes. Stateless; answers from memory;
/// thread-safe.
struct EntryReporter: Sendable {
    let nodes: NodeLookup
    let contents: any ContentStore
    let clock: any WallClock

    /// Returns nil for folders and control files, except pasted folders.
    func report(on node: Node) -> EntryReport? {
        switch node.content {
        case .root, .control, .status, .transfers, .recovered, .marker, .chat, .thumbnails, .thumbnail,
            .messages, .messageLog:
            return nil
        case .pastedFolder:
            return EntryReport(
                state: .draft, progress: 0, problem: nodes.pasted.machine(node.id)?.problem,
                wait: EntryWait.ofPastedFolder)
        case .draft(let id):
            guard let condition = nodes.draft(id, at: node.id)?.snapshot else { return nil }
            return EntryReport(
                state: EntryState(condition.state), progress: 0, problem: condition.problem,
                wait: EntryWait.reason(of: condition.wait))
        case .item(let item):
            return report(on: item)
        }
    }

    /// Returns nil for an item without a file.
    func report(on item: ChatItem) -> EntryReport? {
        item.file.map { report(on: $0, contents.condition(of: $0.id)) }
    }

    func isPinned(_ node: Node) -> Bool {
        guard case .item(let item) = node.content, let file = item.file else { return false }
        return contents.isPinned(file.id)
    }

    func isTransfer(_ item: ChatItem) -> Bool { report(on: item)?.isTransfer ?? false }

    private func report(on file: ChatFile, _ condition: HydrationCondition) -> EntryReport {
        var report = EntryReport(file)
        switch condition.stage {
        case .complete where report.state == .stored || report.state == .remote:
            if condition.isHydrated {
                (report.state, report.progress) = (.hydrated, 100)
            } else if condition.isStored {
                (report.state, report.progress) = (.stored, 100)
            }
        case .receiving where report.state == .remote || report.state == .receiving:
            report.state = .receiving
            // A file that only the core can receive has no local progress.
            report.progress = max(report.progress, condition.progress)
        case .idle where report.state == .remote: report.progress = condition.progress
        case .idle, .receiving, .complete: break
        }
        report.wait = EntryWait.reason(of: file, progress: report.progress)
        if let problem = condition.problem {
            report.cause = problem.sentence
            report.problem = problem.sentence
            if let pause = condition.nextTry, !problem.isFinal {
                report.nextTry = clock.now().advanced(by: pause)
                report.problem =
                    problem.sentence + " The next attempt is in \(pause.components.seconds + 1) s."
            }
            if problem.isFinal { report.state = EntryState(problem.kind) }
        }
        // Including files whose last attempt failed.
        let isLost = report.state == .expired || report.state == .remote && report.problem != nil
        if isLost, let expires = file.expires, expires <= clock.now() {
            report.problem =
                (report.problem.map { $0 + " " } ?? "") + "Its time on the relay ended at \(expires.text)."
        }
        return report
    }
}

extension EntryReport {
    /// Creates the report from the core's status.
    init(_ file: ChatFile) {
        switch file.status {
        case .sndStored where file.transport == .local: self.init(state: .stored, progress: 100)
        case .sndStored: self.init(state: .sending, progress: 0)
        case .sndTransfer(let sent, let total): self.init(state: .sending, progress: percent(sent, total))
        case .sndWarning(let problem): self.init(state: .sending, progress: 0, problem: problem.sentence)
        case .sndComplete: self.init(state: file.isDelivered ? .delivered : .sent, progress: 100)
        case .sndCancelled: self.init(state: .cancelled, progress: 100, problem: "Sending was cancelled.")
        case .sndError(let problem): self.init(state: .failed, progress: 0, problem: problem.sentence)
        case .rcvInvitation: self.init(state: .remote, progress: 0)
        case .rcvAborted(let problem): self.init(state: .remote, progress: 0, problem: problem.sentence)
        case .rcvAccepted: self.init(state: .receiving, progress: 0)
        case .rcvTransfer(let received, let total):
            self.init(state: .receiving, progress: percent(received, total))
        case .rcvWarning(let problem): self.init(state: .receiving, progress: 0, problem: problem.sentence)
        case .rcvComplete where file.isElsewhere: self.init(state: .remote, progress: 0)
        case .rcvComplete: self.init(state: .stored, progress: 100)
        case .rcvCancelled: self.init(state: .cancelled, progress: 0, problem: "The file was cancelled.")
        case .rcvError(let problem):
            self.init(state: EntryState(problem.kind), progress: 0, problem: problem.sentence)
        }
    }
}

private func percent(_ part: UInt64, _ whole: UInt64) -> Int {
    guard whole > 0 else { return 0 }
    return Int(min(100, Double(part) / Double(whole) * 100))
}
