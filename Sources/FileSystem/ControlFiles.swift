import Base
import ChatCore
import FoundationEssentials
import Glibc
import Namespace

/// What `.chatfs/status.json` holds; `chatfs status` reads it.
public struct MountStatus: Codable, Sendable {
    /// One file that is on its way, waits, or could not go.
    public struct Transfer: Codable, Sendable {
        /// Folder and name below the mountpoint.
        public var path: String
        public var state: String
        /// Per cent.
        public var progress: Int
        public var size: UInt64
        public var error: String?
    }

    public var profile: String
    public var mountpoint: String
    /// Folder with the control socket.
    public var controlFolder: String
    public var pid: Int32
    /// Seconds since 1970.
    public var mountedAt: Int64
    public var chats: Int
    public var entries: Int
    /// Decrypted bytes in the cache.
    public var cachedBytes: UInt64
    /// How often the kernel asked the mount for something since it was made, by whatever operation; those for
    /// this file are among them. What the kernel answers itself is not.
    public var requests: UInt64
    /// Why the core cannot be reached at present, a sentence; nil when it can.
    public var coreProblem: String?
    public var transfers: [Transfer]
    public var kernel: KernelSide?

    /// What `bytes`, read from the file, say; nil when they are of another version.
    public static func decoded(_ bytes: [UInt8]) -> MountStatus? {
        try? JSONDecoder().decode(MountStatus.self, from: Data(bytes))
    }
}

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
