import Base
import ChatCore
import Glibc
import Namespace

/// Gathers what `status.json` and `transfers` tell. Has no state of its own. Walks all entries.
final class StatusReport: Sendable {
    private let names: Namespace
    private let contents: any ContentStore
    private let nodes: NodeLookup
    private let entries: EntryReporter
    private let kernel: KernelConnection
    private let profile: Profile
    private let settings: FileSystem.Settings
    private let beginning: Timestamp

    init(
        names: Namespace, contents: any ContentStore, nodes: NodeLookup, entries: EntryReporter,
        kernel: KernelConnection, profile: Profile, settings: FileSystem.Settings, beginning: Timestamp
    ) {
        self.names = names
        self.contents = contents
        self.nodes = nodes
        self.entries = entries
        self.kernel = kernel
        self.profile = profile
        self.settings = settings
        self.beginning = beginning
    }

    /// The state of the mount at this moment.
    func status(coreProblem: String?) -> MountStatus {
        let side = kernel.side
        var status = MountStatus(
            profile: profile.displayName, mountpoint: settings.mountpoint,
            controlFolder: settings.controlFolder, pid: getpid(), mountedAt: beginning.seconds, chats: 0,
            entries: 0, cachedBytes: 0, requests: side?.requests ?? 0, coreProblem: coreProblem,
            transfers: [], kernel: side)
        for node in names.nodes(where: { _ in true }) {
            switch node.content {
            case .root, .control, .status, .transfers, .recovered: continue
            case .chat: status.chats += 1
            case .item(let item):
                status.entries += 1
                if let file = item.file { status.cachedBytes += contents.condition(of: file.id).cached }
                if let transfer = transfer(node) { status.transfers.append(transfer) }
            case .draft:
                status.entries += 1
                if let transfer = transfer(node) { status.transfers.append(transfer) }
            }
        }
        return status
    }

    /// What is on its way, waits, or could not go or come.
    private func transfer(_ node: Node) -> MountStatus.Transfer? {
        guard let report = entries.report(on: node) else { return nil }
        switch report.state {
        case .stored, .hydrated, .sent, .remote, .cancelled, .expired, .blocked:
            guard report.problem != nil, report.state == .remote else { return nil }
        case .receiving, .draft, .queued, .sending, .unsure, .failed, .recovered: break
        }
        return MountStatus.Transfer(
            path: path(of: node), state: report.state.rawValue, progress: report.progress,
            size: size(of: node), error: report.problem)
    }

    private func size(of node: Node) -> UInt64 {
        switch node.content {
        case .item(let item): item.file?.size ?? 0
        case .draft(let id): nodes.draft(id, at: node.id)?.snapshot.size ?? 0
        case .root, .control, .status, .transfers, .recovered, .chat: 0
        }
    }

    /// Path below the mountpoint.
    private func path(of node: Node) -> String {
        var path = node.name.description
        var folder = node.folder
        while folder != .root, let parent = names.node(folder) {
            path = "\(parent.name)/\(path)"
            folder = parent.folder
        }
        return path
    }
}
