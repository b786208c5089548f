import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// Implements open(2) and creat(2). Stateless; thread-safe.
struct FileOpener: Sendable {
    let names: Namespace
    let nodes: NodeLookup
    let attributes: AttributeReader
    let handles: HandleTable
    let drafts: DraftChanges
    let pasted: PastedChanges
    let control: ControlFiles
    let contents: any ContentStore
    let core: any ChatCore
    let callers: CallerCheck
    let thumbnails: ThumbnailFiles?
    let watchers: FolderWatchers
    let user: UserConnection
    /// Maximum wait of a read without progress.
    let deadline: Duration
    /// Maximum wait for the item of a draft that has left the outbox.
    let timeout: Duration

    /// Deadline for thumbnailers and type detection, which read many files.
    private static let shortDeadline = Duration.seconds(5)

    // MARK: - Opening

    /// - Parameter thread: The calling thread; 0 if unknown.
    func open(_ id: NodeID, flags: Int32, by thread: pid_t) -> Answer<FileHandle> {
        guard let node = nodes.nodeToOpen(id) else { return .refused(.gone) }
        let writes = flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0
        switch node.content {
        case .root, .control, .recovered, .chat, .pastedFolder, .thumbnails, .messages:
            return .refused(.isFolder)
        case .thumbnail:
            guard !writes else { return .refused(.notPermitted) }
            guard let place = ThumbnailNodes.place(of: id), let thumbnails else { return .refused(.gone) }
            return thumbnails.bytes(of: place).map { [handles] bytes in
                .success(handles.add(node, ThumbnailSource(bytes)))
            }
        case .messageLog(let chat):
            guard !writes else { return .refused(.notPermitted) }
            let opening = ItemOpening(flags: flags, name: node.name, folder: node.folder, size: 0)
            callers.whenSeen(by: thread, opening) { [user] in user.notify(.openedLog(chat)) }
            return .done(handles.add(node, MessageLogSource(chat, in: core)))
        case .marker:
            guard !writes else { return .refused(.notPermitted) }
            return .done(handles.add(node, ProducedSource([])))
        case .status, .transfers:
            guard !writes else { return .refused(.notPermitted) }
            return .later { [self] in .success(await produce(node)) }
        case .item(let item):
            guard !writes else { return .refused(.notPermitted) }
            return openItem(item, at: node, flags: flags, by: thread)
        case .draft(let draft):
            guard let file = nodes.draft(draft, at: id) else { return .refused(.gone) }
            if writes && node.folder == .recovered { return .refused(.notPermitted) }
            // The archive of its folder replaced it after the program's lookup.
            if writes, PastedTree.holds(id), nodes.pasted.node(id) == nil { return .refused(.gone) }
            return .waiting { [self] in
                try await openDraft(file, at: node, flags: flags, writes: writes, by: thread)
            }
        }
    }

    private func openItem(
        _ item: ChatItem, at node: Node, flags: Int32, by thread: pid_t
    ) -> Answer<FileHandle> {
        let opening = ItemOpening(
            flags: flags, name: node.name, folder: node.folder, size: item.file?.size ?? 0)
        guard isHere(item) else {
            return .later { [self] in await fetch(node, item, opening, for: thread) }
        }
        if item.direction == .received {
            callers.whenSeen(by: thread, opening) { [self] in noteOpened(item) }
        }
        return .done(read(node, item))
    }

    /// Opens a draft. Waits for the item of one that is read while it leaves the outbox.
    private func openDraft(
        _ file: any DraftFile, at node: Node, flags: Int32, writes: Bool, by thread: pid_t
    ) async throws -> FileHandle {
        let isLeaving: Set<DraftState> = writes ? [] : [.queued, .sending, .sent]
        let deadline = ContinuousClock.now + timeout
        while true {
            do {
                return try await ThreadPool.shared.run { [self] in
                    try open(file, at: node, flags: flags, writes: writes, by: thread)
                }
            } catch {
                // The core moves the bytes before the tree has its item.
                guard isLeaving.contains(file.state), ContinuousClock.now < deadline else { throw error }
                guard (try? await Task.sleep(for: .milliseconds(5))) != nil else {
                    throw FileSystemError(EINTR)
                }
            }
        }
    }

    private func noteOpened(_ item: ChatItem) {
        core.noteOpened(item.id, in: item.chat)
        user.notify(.opened(item.id))
    }

    private func produce(_ node: Node) async -> FileHandle {
        handles.add(node, ProducedSource(await control.produce(node)))
    }

    private func read(_ node: Node, _ item: ChatItem) -> FileHandle {
        handles.add(node, ItemSource(item, in: contents, deadline: deadline))
    }

    /// Returns true if reads need no fetch.
    private func isHere(_ item: ChatItem) -> Bool {
        guard let file = item.file, !file.isHere else { return true }
        return contents.condition(of: file.id).stage == .complete
    }

    /// Opens a file that is not on this machine, as far as `CallerCheck` permits.
    private func fetch(
        _ node: Node, _ item: ChatItem, _ opening: ItemOpening, for thread: pid_t
    ) async -> Result<FileHandle, FileSystemError> {
        let source: any OpenSource
        switch await callers.access(of: thread, opening) {
        case .full:
            // Some programs open files without reading.
            source = undecided(node, item, FirstRead(limit: 0))
        case .afterFirstRead(let limit):
            source = undecided(node, item, FirstRead(limit: limit))
        case .typeOnly:
            watchers.listed(opening.folder)
            guard let file = item.file, contents.condition(of: file.id).cached > 0 else {
                return .failure(FileSystemError(EACCES, "This program only finds out the type."))
            }
            source = undecided(node, item, FirstRead(limit: TypeDetection.fourPages, isDetection: true))
        case .impatient:
            source = ItemSource(item, in: contents, deadline: min(deadline, Self.shortDeadline))
        case .beginning where !core.receivesWhatIsClaimed:
            source = BeginningSource(item, in: contents, deadline: min(deadline, Self.shortDeadline))
        case .beginning, .none:
            return .failure(FileSystemError(EACCES, "This program fetches nothing."))
        }
        return .success(handles.add(node, source))
    }

    private func undecided(_ node: Node, _ item: ChatItem, _ firstRead: FirstRead) -> UndecidedSource {
        let isOpen = handles.handle(on: node.id) != nil
        let source = ItemSource(item, in: contents, deadline: deadline)
        return UndecidedSource(source, firstRead, isOpen: isOpen) { [self] in
            if item.direction == .received { noteOpened(item) }
        }
    }

    private func open(
        _ file: any DraftFile, at node: Node, flags: Int32, writes: Bool, by thread: pid_t
    ) throws -> FileHandle {
        if writes, PastedTree.holds(node.id) { try pasted.willWrite(node.id) }
        let opening: DraftOpening
        do {
            opening = try file.opened(for: writes ? .writing : .reading)
        } catch {
            // Sent since the lookup: the item now holds the bytes.
            guard !writes, let (node, item) = nodes.item(at: node.id) else { throw error }
            return read(node, item)
        }
        do {
            if flags & O_TRUNC != 0 { try file.truncate(to: 0, through: opening, by: thread) }
        } catch {
            file.closed(opening)
            throw error
        }
        if writes { file.wasOpened(opening, by: thread) }
        return handles.add(node, DraftSource(file, opening))
    }

    // MARK: - Creating

    /// Creates a draft, opened for writing; it is sent after its last close. Opens a name that has appeared meanwhile,
    /// unless `flags` (of open(2)) contain O_EXCL. The folder must be loaded.
    func create(
        _ name: EntryName, in folder: NodeID, flags: Int32, by thread: pid_t
    ) -> Answer<(Attributes, FileHandle)> {
        if let error = DraftChanges.refusal(of: name) { return .refused(error) }
        if pasted.concerns(name, in: folder) {
            return createPart(name, in: folder, flags: flags, by: thread)
        }
        guard let parent = names.node(folder) else { return .refused(.gone) }
        guard case .chat(let chat) = parent.content else { return .refused(.notPermitted) }
        if let node = names.child(name, of: folder) {
            return openMade(node, flags: flags, by: thread)
        }
        if willNotBeRenamed(name, in: folder) {
            return .refused(
                FileSystemError(
                    EPERM, "The new name belongs to a file that cannot be replaced."))
        }
        if let refused = chat.sendingRefused { return .refused(FileSystemError(EACCES, refused)) }
        return .blocking { [self] in
            try makeOrOpen(name, in: folder, flags: flags, by: thread) {
                try drafts.make(name, in: folder, of: chat.reference, opened)
            }
        }
    }

    /// Creates a file in a pasted folder.
    private func createPart(
        _ name: EntryName, in folder: NodeID, flags: Int32, by thread: pid_t
    ) -> Answer<(Attributes, FileHandle)> {
        if let node = nodes.pasted.child(name, of: folder) {
            return openMade(node, flags: flags, by: thread)
        }
        return .blocking { [self] in
            try makeOrOpen(name, in: folder, flags: flags, by: thread) {
                try pasted.make(name, in: folder, opened)
            }
        }
    }

    private func opened(_ node: Node, _ draft: any DraftFile) throws -> (Attributes, FileHandle) {
        guard let kept = attributes.attributesToKeep(of: node) else { throw FileSystemError.gone }
        return (kept, handles.add(node, DraftSource(draft, .ofItsMaker)))
    }

    /// Creates a file, or opens it if another program created it first. Blocks.
    private func makeOrOpen(
        _ name: EntryName, in folder: NodeID, flags: Int32, by thread: pid_t,
        _ make: () throws -> (Attributes, FileHandle)
    ) throws -> (Attributes, FileHandle) {
        do {
            let made = try make()
            made.1.source.draft?.wasOpened(.ofItsMaker, by: thread)
            return made
        } catch {
            guard FileSystemError(error).code == EEXIST, flags & O_EXCL == 0,
                let (node, file) = appearing(name, in: folder)
            else { throw error }
            let handle = try open(file, at: node, flags: flags & ~O_TRUNC, writes: true, by: thread)
            return try withAttributes(handle).get()
        }
    }

    /// Waits at most one second for a draft that has its name in the outbox but not yet in the index.
    private func appearing(_ name: EntryName, in folder: NodeID) -> (Node, any DraftFile)? {
        for _ in 0..<200 {
            if let node = names.child(name, of: folder) ?? nodes.pasted.child(name, of: folder) {
                guard case .draft(let id) = node.content else { return nil }
                return nodes.draft(id, at: node.id).map { (node, $0) }
            }
            usleep(5000)
        }
        return nil
    }

    /// Opens a name that appeared after the kernel's lookup, because another program creates the same file
    /// concurrently. O_TRUNC is dropped while that program writes, as if the file had been created before its first
    /// byte.
    private func openMade(
        _ node: Node, flags: Int32, by thread: pid_t
    ) -> Answer<(Attributes, FileHandle)> {
        guard flags & O_EXCL == 0 else { return .refused(FileSystemError(EEXIST)) }
        var flags = flags
        if case .draft(let id) = node.content, let file = nodes.draft(id, at: node.id),
            !file.isFinished(.ofItsMaker)
        {
            flags &= ~O_TRUNC
        }
        return open(node.id, flags: flags, by: thread).map { [self] in withAttributes($0) }
    }

    /// Returns true for a `NAME.part` whose rename would be refused. KDE replaces a file by writing `NAME.part` and
    /// renaming it, and ignores a failed rename: it would report success for a file that is not sent. The creation is
    /// refused instead.
    private func willNotBeRenamed(_ name: EntryName, in folder: NodeID) -> Bool {
        let suffix = Array(".part".utf8)
        guard name.bytes.count > suffix.count, name.bytes.suffix(suffix.count).elementsEqual(suffix),
            let final = names.child(EntryName(Array(name.bytes.dropLast(suffix.count))), of: folder)
        else { return false }
        return nodes.editableDraft(final) == nil
    }

    /// Returns the current attributes; the open may have truncated the node.
    private func withAttributes(_ handle: FileHandle) -> Result<(Attributes, FileHandle), FileSystemError> {
        if let node = nodes.node(handle.id), let kept = attributes.attributesToKeep(of: node) {
            return .success((kept, handle))
        }
        handles.release(handle)
        return .failure(.gone)
    }
}
