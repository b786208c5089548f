import Base
import ChatCore
import Namespace

/// The last error of a transfer since the mount began, also after its file has gone or was sent. Thread-safe.
final class LastProblem: Sendable {
    private let names: Namespace
    private let entries: EntryReporter
    private let clock: any WallClock
    /// The node is nil if the error concerns the whole mount.
    private let last = Lock<(error: MountStatus.LastError, node: Node?)?>(nil)

    init(names: Namespace, entries: EntryReporter, clock: any WallClock) {
        self.names = names
        self.entries = entries
        self.clock = clock
    }

    var value: MountStatus.LastError? {
        guard let noted = last.withLock({ $0 }) else { return nil }
        var error = noted.error
        // nil if the entry has recovered.
        error.nextTry = noted.node.flatMap { entries.report(on: $0)?.nextTry?.seconds }
        return error
    }

    /// Looks at an entry that changed. Held drafts and cancelled transfers are no errors.
    func look(at node: Node) {
        guard let report = entries.report(on: node), let error = report.error else { return }
        switch report.state {
        case .draft, .recovered, .cancelled, .stored, .hydrated, .sent, .delivered: return
        case .remote, .receiving, .queued, .sending, .unsure, .failed, .expired, .blocked: break
        }
        note(error, at: names.path(of: node), node)
    }

    /// Takes an error of the whole mount.
    func note(_ error: String) { note(error, at: "", nil) }

    private func note(_ error: String, at path: String, _ node: Node?) {
        let now = clock.now().seconds
        let noted = MountStatus.LastError(path: path, time: now, error: error)
        last.withLock { $0 = (error: noted, node: node) }
    }
}
