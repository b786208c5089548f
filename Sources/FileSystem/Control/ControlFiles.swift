import Base
import Namespace

/// The files of `.chatfs`: `status.json` and `transfers`, which are made when they are opened. Knows what each was
/// when it was last made, and whether the core can be reached. Any thread.
final class ControlFiles: Sendable {
    private struct State {
        var last: [NodeID: (size: UInt64, time: Timestamp)] = [:]
        /// Why the core cannot be reached at present.
        var coreProblem: String?
        var additions: [Addition] = []
    }

    /// A struct around it, as `Lock` wants.
    private struct Addition {
        var add: @Sendable (inout MountStatus) async -> Void
    }

    private let state = Lock(State())
    private let report: StatusReport
    private let clock: any WallClock
    /// When the mount began.
    let beginning: Timestamp

    init(_ report: StatusReport, clock: any WallClock, beginning: Timestamp) {
        self.report = report
        self.clock = clock
        self.beginning = beginning
    }

    /// - Parameter problem: why it cannot be reached, a sentence; nil when it can.
    func coreReachabilityChanged(problem: String?) { state.withLock { $0.coreProblem = problem } }

    func completeStatus(with add: @escaping @Sendable (inout MountStatus) async -> Void) {
        state.withLock { $0.additions.append(Addition(add: add)) }
    }

    func status() async -> MountStatus {
        let (problem, additions) = state.withLock { ($0.coreProblem, $0.additions) }
        var status = await report.status(coreProblem: problem)
        for addition in additions { await addition.add(&status) }
        return status
    }

    /// What a control file was when it was last made, for `stat`: making it takes longer the more is on its
    /// way, and who reads it gets all of it, whatever its size was before. Before the first time it is not
    /// empty: of an empty file some programs read nothing.
    func last(_ file: NodeID) -> (size: UInt64, time: Timestamp) {
        state.withLock { $0.last[file] } ?? (4096, beginning)
    }

    /// The bytes of a control file, made now.
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
