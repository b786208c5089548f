import Base
import FileSystem
import Glibc
import Namespace

/// Which change the process of `WatcherNotices` repeats on the mount at this moment, so that its requests are told
/// from those of others: for it, and it alone, that change has yet to be made. Any thread.
final class OwnCalls: Sendable {
    private struct Call {
        let process: pid_t
        let notice: WatcherNotice
    }

    /// What a name is for that process.
    enum Name: Equatable {
        case absent
        case present(NodeID)
    }

    private let call = Lock<Call?>(nil)

    func begin(_ notice: WatcherNotice, by process: pid_t) {
        call.withLock { $0 = Call(process: process, notice: notice) }
    }

    func end() { call.withLock { $0 = nil } }

    /// What `thread` repeats; nil for everybody else.
    func notice(of thread: pid_t) -> WatcherNotice? {
        call.withLock { call in call.flatMap { $0.process == thread ? $0.notice : nil } }
    }

    /// What a name is for `thread`, where that is another than for everybody else.
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
