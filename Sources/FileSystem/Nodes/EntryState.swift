import Base
import ChatCore
import Hydration
import Namespace
import Outbox

/// Where an entry stands, in the words of `user.chatfs.state` (`docs/semantics.md`, "States").
public enum EntryState: String, Sendable {
    case remote, receiving, stored, hydrated
    case draft, queued, sending, sent, unsure
    case expired, cancelled, blocked, failed
    /// Left unfinished by an earlier mount.
    case recovered
}

/// Everything about an entry that its attributes and `status.json` tell.
struct EntryReport {
    var state: EntryState
    /// Per cent; 100 when nothing is left to do.
    var progress: Int
    var problem: String?
}

extension ChatItem {
    /// Its bytes have not all left this machine.
    var isBeingSent: Bool {
        // A note stays `sndStored`: it goes nowhere.
        switch file?.status {
        case .sndStored where file?.transport == .local: false
        case .sndStored, .sndTransfer, .sndWarning: true
        default: false
        }
    }
}

extension FileSystem {
    func report(on node: Node) -> EntryReport? {
        switch node.content {
        case .root, .control, .status, .transfers, .recovered, .chat: return nil
        case .draft(let id):
            guard let condition = draft(id, at: node.id)?.snapshot else { return nil }
            return EntryReport(
                state: EntryState(condition.state), progress: 0, problem: condition.problem)
        case .item(let item):
            guard let file = item.file else { return nil }
            return report(on: file, contents.condition(of: file.id))
        }
    }

    private func report(on file: ChatFile, _ condition: HydrationCondition) -> EntryReport {
        var report = EntryReport(file)
        switch condition.stage {
        case .hydrated where report.state == .stored || report.state == .remote: report.state = .hydrated
        case .receiving where report.state == .remote || report.state == .receiving:
            report.state = .receiving
            report.progress = condition.progress
        case .idle, .receiving, .hydrated: break
        }
        if let problem = condition.problem {
            report.problem = problem.sentence
            if let pause = condition.nextTry, !problem.isFinal {
                report.problem =
                    problem.sentence + " The next attempt is in \(pause.components.seconds + 1) s."
            }
            if problem.isFinal { report.state = EntryState(problem.kind) }
        }
        if report.state == .expired, let expires = file.expires, expires <= now() {
            report.problem =
                (report.problem.map { $0 + " " } ?? "") + "Its time on the relay ended at \(expires.text)."
        }
        return report
    }
}

extension EntryReport {
    init(_ file: ChatFile) {
        switch file.status {
        case .sndStored where file.transport == .local: self.init(state: .stored, progress: 100)
        case .sndStored: self.init(state: .sending, progress: 0)
        case .sndTransfer(let sent, let total): self.init(state: .sending, progress: percent(sent, total))
        case .sndWarning(let problem): self.init(state: .sending, progress: 0, problem: problem.sentence)
        case .sndComplete: self.init(state: .sent, progress: 100)
        case .sndCancelled: self.init(state: .cancelled, progress: 100, problem: "Sending was cancelled.")
        case .sndError(let problem): self.init(state: .failed, progress: 0, problem: problem.sentence)
        case .rcvInvitation: self.init(state: .remote, progress: 0)
        case .rcvAborted(let problem): self.init(state: .remote, progress: 0, problem: problem.sentence)
        case .rcvAccepted: self.init(state: .receiving, progress: 0)
        case .rcvTransfer(let received, let total):
            self.init(state: .receiving, progress: percent(received, total))
        case .rcvWarning(let problem): self.init(state: .receiving, progress: 0, problem: problem.sentence)
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

extension EntryState {
    init(_ state: DraftState) {
        switch state {
        case .draft: self = .draft
        case .queued: self = .queued
        // Handed over: whether its bytes have left is for the item to say, which takes over at once.
        case .sending, .sent: self = .sending
        case .failed: self = .failed
        case .unsure: self = .unsure
        case .recovered: self = .recovered
        case .removed: self = .cancelled
        }
    }

    init(_ kind: FileProblem.Kind) {
        switch kind {
        case .expired, .neverUploaded: self = .expired
        case .cancelledBySender: self = .cancelled
        case .blocked: self = .blocked
        default: self = .failed
        }
    }
}
