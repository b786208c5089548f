import Base
import Namespace

/// Generates the files of `.chatfs`, `status.json` and `transfers`, when they are opened. Stores each file's last size
/// and time, and the core's reachability. Thread-safe.
final class ControlFiles: Sendable {
    private struct State {
        var last: [NodeID: (size: UInt64, time: Timestamp)] = [:]
        /// The reason that the core is unreachable; nil if it is reachable.
        var coreProblem: String?
        var additions: [Addition] = []
    }

    /// A struct, as `Lock` requires.
    private struct Addition {
        var add: @Sendable (inout MountStatus) async -> Void
    }

    private let state = Lock(State())
    private let report: StatusReport
    private let sync: SyncReport
    private let clock: any WallClock
    /// Time of the mount.
    let beginning: Timestamp

    init(_ report: StatusReport, _ sync: SyncReport, clock: any WallClock, beginning: Timestamp) {
        self.report = report
        self.sync = sync
        self.clock = clock
        self.beginning = beginning
    }

    /// - Parameter problem: A sentence that tells why the core is unreachable; nil if it is reachable.
    func coreReachabilityChanged(problem: String?) { state.withLock { $0.coreProblem = problem } }

    func completeStatus(with add: @escaping @Sendable (inout MountStatus) async -> Void) {
        state.withLock { $0.additions.append(Addition(add: add)) }
    }

    func syncStatus() async -> SyncStatus {
        await sync.status(coreProblem: state.withLock { $0.coreProblem })
    }

    func status() async -> MountStatus {
        let (problem, additions) = state.withLock { ($0.coreProblem, $0.additions) }
        var status = await report.status(coreProblem: problem)
        for addition in additions { await addition.add(&status) }
        return status
    }

    /// Returns the size and time for `stat`. Both are of the last generation, because generating takes long during many
    /// transfers and a reader gets the whole file whatever its size. The size before the first generation is 4096,
    /// because some programs do not read empty files.
    func last(_ file: NodeID) -> (size: UInt64, time: Timestamp) {
        state.withLock { $0.last[file] } ?? (4096, beginning)
    }

    /// Generates the bytes of a control file.
    func produce(_ node: Node) async -> [UInt8] {
        let bytes = await bytes(of: node.content)
        let time = clock.now()
        state.withLock { $0.last[node.id] = (UInt64(bytes.count), time) }
        return bytes
    }

    private func bytes(of content: Node.Content) async -> [UInt8] {
        switch content {
        case .status:
            return await status().encoded + [UInt8(ascii: "\n")]
        case .transfers:
            return Array(await status().transfers.map(Self.line).joined().utf8)
        case .root, .control, .recovered, .marker, .chat, .item, .draft, .pastedFolder,
            .thumbnails, .thumbnail, .messages, .messageLog:
            return []
        }
    }

    private static func line(_ transfer: MountStatus.Transfer) -> String {
        let head = "\(transfer.state)\t\(transfer.progress)%\t\(transfer.size)\t\(transfer.path)"
        return head + (transfer.error.map { "\t\($0)" } ?? "") + "\n"
    }
}
