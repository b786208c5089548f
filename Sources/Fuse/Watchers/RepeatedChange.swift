import Base
import FileSystem
import Glibc
import Namespace

/// The change that each `WatcherProcess` currently repeats on the mount. It tells the process's requests from others:
/// for that process alone, the change has not happened yet. Thread-safe.
final class RepeatedChange: Sendable {
    /// The state of a name as that process sees it.
    enum Name: Equatable {
        case absent
        case present(NodeID)
    }

    private let notices = Lock<[pid_t: WatcherNotice]>([:])

    func begin(_ notice: WatcherNotice, by process: pid_t) { notices.withLock { $0[process] = notice } }

    func end(by process: pid_t) { notices.withLock { $0[process] = nil } }

    /// Returns the change that `thread` repeats; nil for all other threads.
    func notice(of thread: pid_t) -> WatcherNotice? { notices.withLock { $0[thread] } }

    /// Returns the state of a name for `thread`, or nil if it is the same as for all other threads.
    func name(_ name: EntryName, in folder: NodeID, for thread: pid_t) -> Name? {
        guard let notice = notice(of: thread), notice.folder == folder else { return nil }
        switch notice {
        case .appeared(let node) where node.name == name: return .absent
        case .renamed(let node, _) where node.name == name: return .absent
        case .renamed(let node, let old) where old == name: return .present(node.id)
        case .vanished(let id, name, _): return .present(id)
        default: return nil
        }
    }
}
