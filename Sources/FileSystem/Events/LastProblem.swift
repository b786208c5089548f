import Base
import ChatCore
import Namespace

/// The last error of a transfer since the mount began, also after its file has gone or was sent. Thread-safe.
final class LastProblem: Sendable {
    private let names: Namespace
    private let entries: EntryReporter
    private let clock: any WallClock
    private let last = Lock<MountStatus.LastError?>(nil)

    init(names: Namespace, entries: EntryReporter, clock: any WallClock) {
        self.names = names
        self.entries = entries
        self.clock = clock
    }

    var value: MountStatus.LastError? { last.withLock { $0 } }

    /// Looks at an entry that changed. Held drafts and cancelled transfers are no errors.
    func look(at node: Node) {
        guard let report = entries.report(on: node), let error = report.error else { return }
        switch report.state {
        case .draft, .recovered, .cancelled, .stored, .hydrated, .sent, .delivered: return
        case .remote, .receiving, .queued, .sending, .unsure, .failed, .expired, .blocked: break
        }
        note(error, path: names.path(of: node))
    }

    /// - Parameter path: Empty if the error concerns the whole mount.
    func note(_ error: String, path: String = "") {
        let now = clock.now().seconds
        last.withLock { $0 = MountStatus.LastError(path: path, time: now, error: error) }
    }
}
