import Base
import ChatCore
import Glibc
import Hydration
import Namespace
import Outbox
import Posix
import Thumbnails

/// The files of one profile, as the kernel and commands see them. Free of C and FUSE types: `Fuse` translates.
///
/// Stateless: builds the parts and forwards each request to the part that answers it (`docs/dev/filesystem.md`).
public final class FileSystem: FileOperations {
    private let names: Namespace
    private let outbox: any DraftStore
    private let cacheDisk: OpenFile

    private let kernel = KernelConnection()
    private let user: UserConnection
    private let folders = ReferencedFolders()
    private let watchers: FolderWatchers
    private let references = KernelReferences()
    private let handles = HandleTable()
    private let nodes: NodeLookup
    private let memory: ItemMemory
    private let control: ControlFiles
    private let attributes: AttributeReader
    private let loader: FolderLoader
    private let opener: FileOpener
    private let changes: NameChanges
    private let remover: EntryRemover
    private let deletion: CommandedDeletion
    private let writer: AttributeWriter
    private let extended: ExtendedAttributes
    private let announcer: TreeAnnouncer
    private let notices: TreeNotices
    /// Describes chats and entries to programs that query the daemon instead of the kernel.
    public let lister: EntryLister
    private let initialTree: InitialTree
    private let itemsLoadedAhead: Int
    private let coreEvents: CoreEvents
    private let pump: EventPump
    private let offers: PreviewOffers
    private let readers = RecentReaders()
    private let thumbnails: ThumbnailFiles?
    private let messages: MessageFiles
    private let pastedFolders: PastedFolders
    /// Policies that the user may relax.
    public let permissions: MountPermissions

    public init(
        names: Namespace, contents: any ContentStore, outbox: any DraftStore, core: any ChatCore,
        settings: FileSystemSettings, clock: any WallClock = SystemWallClock()
    ) {
        (self.names, self.outbox, cacheDisk) = (names, outbox, settings.cacheDisk)
        itemsLoadedAhead = settings.itemsLoadedAhead
        let (beginning, deadline, table) = (clock.now(), settings.readDeadline, DraftTable())
        let permissions = MountPermissions(
            deletion: settings.deletion, folders: settings.folders, callers: settings.callers,
            archivesFolders: settings.folderArchiver != nil)
        self.permissions = permissions
        let tree = PastedTree(clock: clock)
        // A pasted folder keeps its name whatever items arrive.
        outbox.look { name, chat in
            // A name that cannot be looked up counts as free.
            (try? names.isInUse(EntryName(name), in: chat)) ?? false
        }
        names.leave(NameReservation { name, folder in tree.child(name, of: folder) != nil })
        nodes = NodeLookup(names, table, references, handles, tree)
        let entries = EntryReporter(nodes: nodes, contents: contents, clock: clock)
        let types = ContentTypes(
            contents: contents, entries: entries, recognise: settings.recognisePicture)
        watchers = FolderWatchers(known: folders, entries: entries)
        memory = ItemMemory(names: names, handles: handles, limit: settings.itemsInMemory)
        loader = FolderLoader(names: names, core: core, kernel: kernel, memory: memory, deadline: deadline)
        user = UserConnection(names: names)
        let callers = CallerCheck(
            permissions, identify: settings.identifyCaller, look: settings.lookAtProgram,
            typeNames: settings.typeNames, timeout: settings.callerTimeout, user: user)
        offers = PreviewOffers(names: names, desktop: settings.desktop, maker: settings.thumbnailMaker)
        names.watch(with: offers.observer)
        thumbnails = settings.thumbnailMaker.map { [kernel, loader, offers] maker in
            ThumbnailFiles(
                names: names, core: core, loader: loader, kernel: kernel, mountpoint: settings.mountpoint,
                maker: maker, offers: offers, deadline: deadline, beginning: beginning)
        }
        let last = LastProblem(names: names, entries: entries, clock: clock)
        let report = StatusReport(
            names: names, contents: contents, core: core, loader: loader, nodes: nodes, entries: entries,
            kernel: kernel, callers: callers, settings: settings, beginning: beginning, last: last)
        announcer = TreeAnnouncer(names: names)
        let sync = SyncReport(
            names: names, contents: contents, core: core, nodes: nodes, entries: entries, changes: announcer)
        control = ControlFiles(report, sync, clock: clock, beginning: beginning)
        messages = MessageFiles(names: names, core: core, kernel: kernel)
        attributes = AttributeReader(
            names: names, nodes: nodes, references: references, memory: memory, folders: folders,
            contents: contents, control: control, messages: messages,
            entryPermissions: settings.entryPermissions)
        notices = TreeNotices(kernel: kernel, watchers: watchers, programs: announcer, last: last)
        pastedFolders = PastedFolders(
            tree: tree, names: names, drafts: table, notices: notices,
            archives: FolderArchives(
                names: names, outbox: outbox, tree: tree, drafts: table, archiver: settings.folderArchiver),
            quietTime: settings.folderQuietTime)
        let pasted = PastedChanges(
            folders: pastedFolders, names: names, outbox: outbox, drafts: table,
            permissions: permissions)
        let drafts = DraftChanges(
            names: names, outbox: outbox, drafts: table, nodes: nodes, notices: notices,
            folders: pastedFolders, references: references)
        opener = FileOpener(
            names: names, nodes: nodes, attributes: attributes, handles: handles, drafts: drafts,
            pasted: pasted, control: control, contents: contents, core: core, callers: callers,
            thumbnails: thumbnails, watchers: watchers, user: user, deadline: deadline,
            timeout: settings.changeTimeout)
        writer = AttributeWriter(
            names: names, nodes: nodes, reader: attributes, pasted: pasted, outbox: outbox, clock: clock)
        remover = EntryRemover(
            names: names, nodes: nodes, outbox: outbox, drafts: drafts, core: core, contents: contents,
            notices: notices, rule: DeletionRule(clock: clock) { permissions.deletion },
            readers: readers, user: user, timeout: settings.changeTimeout)
        changes = NameChanges(
            loader: loader, opener: opener, drafts: drafts, pasted: pasted, remover: remover,
            attributes: attributes, outbox: outbox, user: user)
        let updater = TreeUpdater(
            names: names, core: core, contents: contents, loader: loader, notices: notices, memory: memory,
            clock: clock)
        deletion = CommandedDeletion(
            names: names, core: core, contents: contents, outbox: outbox, tree: updater)
        extended = ExtendedAttributes(
            nodes: nodes, entries: entries, drafts: drafts,
            resender: MessageResender(
                names: names, outbox: outbox, core: core, contents: contents, tree: updater,
                timeout: settings.changeTimeout),
            profile: core.profile, types: types)
        lister = EntryLister(
            names: names, loader: loader, attributes: attributes, extended: extended,
            digests: ContentDigests(names: names, contents: contents))
        initialTree = InitialTree(
            names: names, core: core, outbox: outbox, drafts: table, loader: loader,
            folders: pastedFolders)
        coreEvents = CoreEvents(
            names: names, contents: contents, outbox: outbox, loader: loader, control: control,
            notices: notices, tree: updater, messages: messages, folders: pastedFolders, user: user)
        pump = EventPump(
            core: core, outbox: outbox, coreEvents: coreEvents,
            draftEvents: DraftEvents(
                names: names, contents: contents, outbox: outbox, drafts: table, references: references,
                notices: notices, tree: updater, folders: pastedFolders),
            contentNotices: ContentNotices(
                names: names, contents: contents, notices: notices, types: types),
            loader: loader)
    }
}

// MARK: - Lifecycle

extension FileSystem {
    /// Shows the chats and the drafts of earlier mounts, and follows core, outbox and contents from then on. Called
    /// once, before the mount.
    /// - Throws: The errno for the error of the core or the index.
    public func begin() async throws(FileSystemError) -> EventPump {
        pump.open()
        do {
            loader.loadAhead(try await initialTree.show(), limit: itemsLoadedAhead)
        } catch {
            throw FileSystemError(error)
        }
        await messages.load()
        pump.start()
        return pump
    }

    /// Shows a file that the control process sent without the mount. Returns once it is shown, or once a retry is
    /// scheduled.
    public func wasSent(_ item: ChatItem) async {
        do {
            try await coreEvents.wasSent(item)
        } catch {
            pump.add(.sent(item))
        }
    }

    /// Releases the remaining handles after the unmount, because the kernel drops unread releases. A draft with writes
    /// since its last close stays open (`umount -f -l`): it is incomplete, and the next mount recovers it.
    public func releaseAll() { handles.releaseAll { !$0.source.isUnfinished } }

    /// True if any file is open for writing.
    public var hasWriters: Bool { handles.hasWriters }

    /// Closes the index and the journal, so that names of sent or deleted files do not remain in their logs. Called
    /// last, after the unmount and the end of the event pump. Blocks.
    public func close() {
        // Removed files are unreachable now.
        references.forgetEverything()
        handles.releaseAll { $0.source.draft?.state == .removed }
        names.close()
        outbox.close()
    }
}

// MARK: - Requests of commands

extension FileSystem {
    /// Returns the item of a node, loading it if necessary; nil for folders, control files, drafts and gone entries.
    /// - Throws: The error of the core or the index.
    public func item(at id: NodeID) async throws(FileSystemError) -> ChatItem? {
        let item = loader.whenKnown(id) { [nodes] () -> Answer<ChatItem?> in
            nodes.node(id) == nil ? .refused(.gone) : .done(nodes.item(at: id)?.item)
        }
        switch await item.result() {
        case .success(let item): return item
        case .failure(let error) where error == .gone: return nil
        case .failure(let error): throw error
        }
    }

    /// Withdraws a draft in a chat, as unlink(2) does. Returns false for any other entry.
    public func takeBack(_ id: NodeID) async throws(FileSystemError) -> Bool {
        guard let node = nodes.node(id), case .draft = node.content, node.folder != .recovered else {
            return false
        }
        try await unlink(node.name, in: node.folder).result().get()
        notices.commanded(.vanished(node.id, node.name, in: node.folder))
        return true
    }

    /// Deletes items of one chat, whatever the policy for unlink(2). Returns after their entries are removed.
    /// - Throws: `ChatError` of the core, or the error of the outbox or the index.
    public func delete(_ items: [ChatItem], mode: DeletionMode) async throws {
        try await deletion.delete(items, mode: mode)
    }

    /// Removes a refused or failed draft and its entry. Refuses any other entry with EPERM.
    public func discard(_ id: NodeID) -> Answer<Void> { remover.discard(id) }

    /// Subscribes a program to the tree's changes from now on.
    /// - Parameters:
    ///   - limit: Maximum number of pending changes; a program that exceeds it is told that it missed some.
    ///   - whenAvailable: Called on any thread when the first change becomes available. Must not wait.
    public func changes(
        limit: Int = 4096, whenAvailable: @escaping @Sendable () -> Void
    ) -> TreeSubscription {
        announcer.subscribe(limit: limit, whenAvailable: whenAvailable)
    }

    /// Sets the receiver of notices to the user. It is called on any thread and must not wait.
    public func tellUser(through send: (@Sendable (UserNotice) -> Void)?) { user.tell(through: send) }

    /// Tells programs of entries that are not local and that relays drop soon.
    public func tellExpiring(_ entries: [NodeID]) {
        for entry in entries { notices.expiring(entry) }
    }

    /// Tells programs that transfers were suspended or resumed.
    public func tellSuspension(_ isSuspended: Bool) { notices.suspended(isSuspended) }

    /// Adds a contributor to the status. It is called by any task, for each status.
    public func completeStatus(with add: @escaping @Sendable (inout MountStatus) async -> Void) {
        control.completeStatus(with: add)
    }

    /// Returns the mount's current state.
    public func status() async -> MountStatus { await control.status() }

    /// Returns the numbers of unfinished entries; much cheaper than `status`.
    public func syncStatus() async -> SyncStatus { await control.syncStatus() }
}

// MARK: - Requests of the kernel

extension FileSystem {
    public func lookup(_ name: EntryName, in folder: NodeID) -> Answer<Attributes> {
        guard name.bytes.count <= EntryName.maxLength else { return .refused(FileSystemError(ENAMETOOLONG)) }
        if let found = attributes.attributesToKeep(of: name, in: folder) { return .done(found) }
        if let found = thumbnails?.lookup(name, in: folder) { return found }
        return loader.whenLoaded(folder) { [attributes] in
            attributes.attributesToKeep(of: name, in: folder).map { .done($0) } ?? .refused(.notFound)
        }
    }

    public func forget(_ id: NodeID, _ count: UInt64) {
        references.forget(id, count)
        thumbnails?.forget(id, count)
        memory.forget(id, count)
        folders.forget(id, count)
    }

    public func attributes(_ id: NodeID) -> Answer<Attributes> {
        if let found = thumbnails?.attributes(id) { return found }
        return loader.whenKnown(id) { [nodes, attributes] in
            guard let node = nodes.node(id) else { return .refused(.gone) }
            return .done(attributes.attributes(of: node))
        }
    }

    /// Checks the permission bits of `stat`, for root as well.
    public func access(_ id: NodeID, mask: Int32) -> Answer<Void> {
        loader.whenKnown(id) { [nodes, attributes] in
            guard let node = nodes.node(id) else { return .refused(.gone) }
            let bits = Int32(attributes.attributes(of: node).permissions >> 6)
            return mask & ~bits & 0o7 == 0 ? .done(()) : .refused(FileSystemError(EACCES))
        }
    }

    /// Returns the statistics of the cache's disk with two system calls. The free space is the space for copies: at
    /// most half of the data disk, because a sent file is stored twice for a moment.
    public func statistics() -> Result<statvfs, FileSystemError> {
        var statistics = statvfs()
        guard fstatvfs(cacheDisk.descriptor, &statistics) == 0 else {
            return .failure(FileSystemError(errno, isFailure: true))
        }
        let freeBlocks = outbox.availableBytes() / UInt64(max(statistics.f_frsize, 1))
        statistics.f_bavail = min(statistics.f_bavail, UInt(freeBlocks))
        statistics.f_namemax = UInt(EntryName.maxLength)
        return .success(statistics)
    }

    public func prepare(_ folder: NodeID) -> Answer<Void> {
        watchers.listed(folder)
        let prepared = loader.prepare(folder)
        guard offers.isNew(folder) else { return prepared }
        return .later { [offers] in
            let result = await prepared.result()
            if case .success = result { await offers.offer(folder) }
            return result
        }
    }

    public func list(_ folder: NodeID, after last: NodeID?, count: Int) -> [Node]? {
        if folder == .messages { return messages.list(after: last, count: count) }
        if PastedTree.holds(folder) { return nodes.pasted.children(of: folder, after: last, count: count) }
        guard let listed = names.list(folder, after: last, count: count) else { return nil }
        if last == nil { user.listed(folder) }
        // Pasted entries have the highest inode numbers.
        let rest = count - listed.count
        return rest <= 0 ? listed : listed + nodes.pasted.children(of: folder, after: last, count: rest)
    }

    public func attributesToKeep(of node: Node) -> Attributes? { attributes.attributesToKeep(of: node) }

    public func parent(of id: NodeID) -> NodeID { nodes.node(id)?.folder ?? .root }

    public func open(_ id: NodeID, flags: Int32, by thread: pid_t) -> Answer<FileHandle> {
        let answer = loader.whenKnown(id) { [opener] in opener.open(id, flags: flags, by: thread) }
        // A program refused read-write access usually opens again for reading.
        guard flags & O_TRUNC != 0 || flags & O_ACCMODE == O_WRONLY else {
            return answer.map { [readers] handle in
                if case .item = handle.node.content { readers.opened(id, flags: flags, by: thread) }
                return .success(handle)
            }
        }
        return answer.whenRefused { [user, nodes] error in
            if let node = nodes.node(id) { user.refused(.overwrite, error, node.name, in: node.folder) }
        }
    }

    public func create(
        _ name: EntryName, in folder: NodeID, flags: Int32, by thread: pid_t
    ) -> Answer<(Attributes, FileHandle)> { changes.create(name, in: folder, flags: flags, by: thread) }

    public func read(
        _ handle: FileHandle, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) -> ReadAnswer { handle.source.read(at: offset, into: buffer) }

    public func readFailed(_ handle: FileHandle, _ error: FileSystemError, by thread: pid_t) {
        // An interrupted caller met no error.
        if error.code != EINTR { outbox.note(.read, by: thread) }
        // Other failures are reported elsewhere. An attempt to read a file that was already refused is known only here.
        if error.code == EACCES, error.isFailure, case .item(let item) = handle.node.content {
            user.notify(.unreadable(item))
        }
    }

    public func readWasAnswered(_ handle: FileHandle) { handle.source.readWasAnswered() }

    public func write(
        _ handle: FileHandle, _ bytes: UnsafeRawBufferPointer, at offset: UInt64, by thread: pid_t
    ) -> Result<Int, FileSystemError> {
        let result = handle.source.write(bytes, at: offset, by: thread)
        if case .failure(let error) = result, error.code == EFBIG {
            user.refused(.write, error, handle.node.name, in: handle.node.folder)
        }
        return result
    }

    public func flush(_ handle: FileHandle, by thread: pid_t) { handle.source.flush(by: thread) }

    public func synchronise(_ handle: FileHandle) -> Answer<Void> { handle.source.synchronise() }

    /// Synchronises the journal, which all folders share and whose names win (`InitialTree`).
    public func synchronise(folder: NodeID) -> Answer<Void> {
        .blocking { [outbox] () throws(any Error) in try outbox.synchronise() }
    }

    public func release(_ handle: FileHandle) {
        handles.release(handle)
        if case .item = handle.node.content { readers.closed(handle.id) }
        if handle.source.isForWriting, PastedTree.holds(handle.id) { pastedFolders.changed(handle.id) }
    }

    public func change(
        _ id: NodeID, _ change: AttributeChange, through handle: FileHandle? = nil, by thread: pid_t = 0
    ) -> Answer<Attributes> {
        loader.whenKnown(id) { [writer] in writer.change(id, change, through: handle, by: thread) }
    }

    public func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32,
        by thread: pid_t = 0
    ) -> Answer<Void> {
        changes.rename(name, in: folder, to: newName, in: newFolder, flags: flags, by: thread)
    }

    public func unlink(_ name: EntryName, in folder: NodeID, by thread: pid_t = 0) -> Answer<Void> {
        changes.unlink(name, in: folder, by: thread)
    }

    public func makeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Attributes> {
        changes.makeFolder(name, in: folder)
    }

    public func removeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Void> {
        changes.removeFolder(name, in: folder)
    }

    /// Called after the unmount. Archives and sends the pasted folders that are complete.
    /// - Parameter isIdle: True if the unmount was requested and nothing was open.
    public func finishFolders(isIdle: Bool) async { await pastedFolders.end(isIdle: isIdle) }

    public func extendedAttribute(_ name: String, of id: NodeID) -> Answer<[UInt8]> {
        loader.whenKnown(id) { [extended] in extended.answer(name, at: id) }
    }

    public func setExtendedAttribute(
        _ name: String, _ value: [UInt8], of id: NodeID, flags: Int32 = 0
    ) -> Answer<Void> {
        loader.whenKnown(id) { [extended] in extended.set(name, to: value, at: id, flags: flags) }
    }

    public func removeExtendedAttribute(_ name: String, of id: NodeID) -> Answer<Void> {
        loader.whenKnown(id) { [extended] in .refused(extended.remove(name, at: id)) }
    }

    public func tellKernel(through send: (@Sendable (KernelNotice) -> Void)?) { kernel.tell(through: send) }

    public func tellWatchers(through send: (@Sendable (WatcherNotice) -> Void)?) {
        watchers.tell(through: send)
    }

    public func shown(_ name: EntryName, in folder: NodeID) -> Node? {
        names.child(name, of: folder) ?? nodes.pasted.child(name, of: folder)
    }

    public func path(of folder: NodeID) -> [EntryName]? {
        var path: [EntryName] = []
        var folder = folder
        while folder != .root {
            guard let node = nodes.node(folder) else { return nil }
            path.insert(node.name, at: 0)
            folder = node.folder
        }
        return path
    }

    public func askKernelSide(through ask: @escaping @Sendable () -> KernelSide) { kernel.ask(through: ask) }
}
