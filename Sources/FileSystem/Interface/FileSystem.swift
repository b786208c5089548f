import Base
import ChatCore
import Glibc
import Hydration
import Namespace
import Outbox
import Posix

/// What each operation does to a node. Knows no C and no FUSE: `Fuse` translates, this decides.
///
/// Every method answers from memory on the calling thread, or says `.later` with the work that waits.
/// `attributes`, `list` and `statistics` never wait for anything; `lookup` and `prepare` only for this disk,
/// while the files of a chat are not read yet.
public final class FileSystem: Sendable {
    let names: Namespace
    let contents: any ContentStore
    let outbox: any DraftStore
    let core: any ChatCore
    let settings: Settings
    /// Drafts by id, so that nothing has to ask the outbox for one.
    let drafts = Lock<[DraftID: any DraftFile]>([:])
    /// Drafts that the kernel may ask for by number.
    let references = KernelReferences()
    /// Open handles by node: what is deleted can still be looked at through them.
    let openHandles = Lock<[NodeID: [ObjectIdentifier: FileHandle]]>([:])
    let deletions = Lock(DeletionBudget())
    /// Why the core cannot be reached at present.
    let coreProblem = Lock<String?>(nil)
    let reading = FolderReading()
    /// What control files were when they were last opened.
    let produced = Lock<[NodeID: Produced]>([:])
    private let kernel = Lock(KernelListener())
    let startedAt: Timestamp
    let log = Log("filesystem")

    public struct Settings: Sendable {
        /// Longest wait for a byte without any progress, and for the names in a chat, then ETIMEDOUT.
        public var readDeadline: Duration
        public var deletion: DeletionPolicy
        /// Any open file or folder on the disk that the cache uses, for `statfs`.
        public var cacheDisk: OpenFile
        /// Shown in `status.json`.
        public var mountpoint: String
        /// Folder with the socket on which commands reach this mount, shown there too.
        public var controlFolder: String

        public init(
            readDeadline: Duration = .seconds(30), deletion: DeletionPolicy = .refused,
            cacheDisk: OpenFile, mountpoint: String, controlFolder: String = ""
        ) {
            self.controlFolder = controlFolder
            self.readDeadline = readDeadline
            self.deletion = deletion
            self.cacheDisk = cacheDisk
            self.mountpoint = mountpoint
        }
    }

    public init(
        names: Namespace, contents: any ContentStore, outbox: any DraftStore, core: any ChatCore,
        settings: Settings, clock: any WallClock = SystemWallClock()
    ) {
        self.names = names
        self.contents = contents
        self.outbox = outbox
        self.core = core
        self.settings = settings
        startedAt = clock.now()
    }

    /// Where notices go to drop what the kernel keeps. Called from any thread; must not wait.
    public func tellKernel(through send: (@Sendable (KernelNotice) -> Void)?) {
        kernel.withLock { $0.send = send }
    }

    /// Where to ask what the kernel does for this mount. Called from any thread; must not wait.
    public func askKernelSide(through ask: @escaping @Sendable () -> KernelSide) {
        kernel.withLock { $0.ask = ask }
    }

    /// At the very end, when nothing is mounted and the news feed has finished: closes index and journal, so
    /// that names of what was sent or deleted do not stay behind in their logs. Blocks.
    public func close() {
        // Nobody can ask for what was removed any more.
        for draft in references.removeAll() { draft.letGo() }
        for handle in openHandles.withLock({ $0.values.flatMap { Array($0.values) } }) {
            if case .draft(let draft, _) = handle.source, draft.state == .removed { release(handle) }
        }
        names.close()
        outbox.close()
    }

    // MARK: - Looking

    /// The kernel knows what is found from then on, until `forget`.
    public func lookup(_ name: EntryName, in folder: NodeID) -> Answer<Attributes> {
        guard name.bytes.count <= EntryName.maxLength else { return .refused(FileSystemError(ENAMETOOLONG)) }
        if let found = attributesToKeep(of: name, in: folder) { return .done(found) }
        return whenShown(folder) { [self] in
            attributesToKeep(of: name, in: folder).map { .done($0) } ?? .refused(.notFound)
        }
    }

    public func attributes(_ id: NodeID) -> Result<Attributes, FileSystemError> {
        guard let node = node(id) else { return .failure(.gone) }
        return .success(attributes(of: node))
    }

    /// Answers when `list` knows everything in a folder.
    public func prepare(_ folder: NodeID) -> Answer<Void> { whenShown(folder) { .done(()) } }

    /// Up to `count` entries after the one with number `last`, as they are at this moment.
    public func list(_ folder: NodeID, after last: NodeID?, count: Int) -> [Node] {
        names.children(of: folder, after: last, count: count)
    }

    /// The item behind a node, nil for folders, control files and drafts.
    public func item(at id: NodeID) -> ChatItem? {
        guard case .item(let item) = names.node(id)?.content else { return nil }
        return item
    }

    /// The item with this file, as far as it is shown.
    public func item(of file: FileID) -> ChatItem? { names.node(of: file).flatMap { item(at: $0.id) } }

    public func parent(of id: NodeID) -> NodeID { node(id)?.folder ?? .root }

    /// The disk that the cache is on, two calls whatever the number of entries. Free is what can be
    /// copied in: half of the data's disk at most, because what is sent lies there twice for a moment.
    public func statistics() -> Result<statvfs, FileSystemError> {
        var statistics = statvfs()
        guard fstatvfs(settings.cacheDisk.descriptor, &statistics) == 0 else {
            return .failure(FileSystemError(errno, isFailure: true))
        }
        let room = outbox.availableBytes() / UInt64(max(statistics.f_frsize, 1))
        statistics.f_bavail = min(statistics.f_bavail, UInt(room))
        statistics.f_namemax = UInt(EntryName.maxLength)
        return .success(statistics)
    }

    /// access(2): by the bits that `stat` shows, for root as well.
    public func access(_ id: NodeID, mask: Int32) -> FileSystemError? {
        guard let node = node(id) else { return .gone }
        let bits = Int32(attributes(of: node).permissions >> 6)
        return mask & ~bits & 0o7 == 0 ? nil : FileSystemError(EACCES)
    }

    // MARK: - Nodes

    func node(_ id: NodeID) -> Node? {
        names.node(id) ?? references.node(id) ?? openHandles.withLock { $0[id]?.first?.value.node }
    }

    /// The draft behind a node: removed too, while the kernel knows it or somebody has it open.
    func draft(_ id: DraftID, at node: NodeID) -> (any DraftFile)? {
        if let draft = drafts.withLock({ $0[id] }) ?? references.draft(node) { return draft }
        guard case .draft(let draft, _) = openHandles.withLock({ $0[node]?.first?.value.source }) else {
            return nil
        }
        return draft
    }

    public func attributes(of node: Node) -> Attributes {
        var attributes = Attributes(
            id: node.id, isFolder: node.isFolder, permissions: node.isFolder ? 0o700 : 0o400, size: 0,
            blocks: 0, modified: startedAt, links: 1, keeping: .untilNotice)
        switch node.content {
        case .root, .control, .recovered, .chat:
            attributes.modified = names.modified(folder: node.id)
            attributes.links = UInt32(2 + names.folderCount(of: node.id))
            if case .control = node.content { attributes.permissions = 0o500 }
        case .status, .transfers:
            let last = produced.withLock { $0[node.id] }
            attributes.size = last?.size ?? Self.sizeBeforeFirst
            // As of a file without holes: who finds fewer blocks than bytes asks where the holes are.
            attributes.blocks = attributes.size / 512 + 1
            attributes.modified = last?.time ?? startedAt
            attributes.keeping = .never
        case .item(let item):
            attributes.size = item.file?.size ?? 0
            attributes.modified = node.modified ?? item.time
            let condition = item.file.map { contents.condition(of: $0.id) } ?? HydrationCondition()
            attributes.blocks = blocks(of: item, condition)
            if condition.stage == .receiving { attributes.keeping = .moment }
        case .draft(let id):
            guard let condition = draft(id, at: node.id)?.snapshot else {
                // Sent since somebody found it.
                guard let node = names.node(node.id), case .item = node.content else { break }
                return self.attributes(of: node)
            }
            attributes.size = condition.size
            attributes.blocks = (condition.size + 511) / 512
            attributes.modified = condition.modified
            attributes.permissions = condition.state.isEditable ? 0o600 : 0o400
            attributes.links = condition.state == .removed ? 0 : 1
            attributes.keeping = .moment
        }
        return attributes
    }

    private func blocks(of item: ChatItem, _ condition: HydrationCondition) -> UInt64 {
        guard let file = item.file, file.size > 0 else { return 0 }
        if file.status.isReadable { return file.size / 512 + 1 }
        return max(1, condition.cached / 512)
    }

    func now() -> Timestamp { SystemWallClock().now() }

    func notify(_ notice: KernelNotice) { kernel.withLock { $0.send }?(notice) }

    var kernelSide: KernelSide? { kernel.withLock { $0.ask }?() }

    private struct KernelListener {
        var send: (@Sendable (KernelNotice) -> Void)?
        var ask: (@Sendable () -> KernelSide)?
    }
}
