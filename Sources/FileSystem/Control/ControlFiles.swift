import Base
import ChatCore
import FoundationEssentials
import Glibc
import Namespace

extension FileSystem {
    /// The state of the mount at this moment.
    public func status() -> MountStatus {
        let kernel = kernelSide
        var status = MountStatus(
            profile: core.profile.displayName, mountpoint: settings.mountpoint,
            controlFolder: settings.controlFolder, pid: getpid(),
            mountedAt: startedAt.seconds, chats: 0, entries: 0, cachedBytes: 0,
            requests: kernel?.requests ?? 0, coreProblem: coreProblem.withLock { $0 }, transfers: [],
            kernel: kernel)
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

    private func transfer(_ node: Node) -> MountStatus.Transfer? {
        guard let report = report(on: node) else { return nil }
        switch report.state {
        case .stored, .hydrated, .sent, .remote, .cancelled, .expired, .blocked:
            guard report.problem != nil, report.state == .remote else { return nil }
        case .receiving, .draft, .queued, .sending, .unsure, .failed, .recovered: break
        }
        return MountStatus.Transfer(
            path: path(of: node), state: report.state.rawValue, progress: report.progress,
            size: attributes(of: node).size, error: report.problem)
    }

    /// Path below the mountpoint.
    func path(of node: Node) -> String {
        var path = node.name.description
        var folder = node.folder
        while folder != .root, let parent = names.node(folder) {
            path = "\(parent.name)/\(path)"
            folder = parent.folder
        }
        return path
    }

    /// What a control file was when it was last made, for `stat`: making it takes longer the more files there
    /// are, and who reads it gets all of it, whatever its size was before.
    struct Produced {
        var size: UInt64
        var time: Timestamp
    }

    /// Shown until it was made once. Not 0: of an empty file some programs read nothing.
    static let sizeBeforeFirst: UInt64 = 4096

    /// The bytes of a control file, made now.
    func produce(_ node: Node) -> [UInt8] {
        let bytes = produce(node.content)
        produced.withLock { $0[node.id] = Produced(size: UInt64(bytes.count), time: now()) }
        return bytes
    }

    private func produce(_ content: Node.Content) -> [UInt8] {
        switch content {
        case .status:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            // Only numbers and strings: encoding them cannot fail.
            let text = (try? encoder.encode(status())) ?? Data()
            return Array(text) + [UInt8(ascii: "\n")]
        case .transfers:
            return Array(status().transfers.map(Self.line).joined().utf8)
        default:
            return []
        }
    }

    private static func line(_ transfer: MountStatus.Transfer) -> String {
        let head = "\(transfer.state)\t\(transfer.progress)%\t\(transfer.size)\t\(transfer.path)"
        return head + (transfer.error.map { "\t\($0)" } ?? "") + "\n"
    }
}
