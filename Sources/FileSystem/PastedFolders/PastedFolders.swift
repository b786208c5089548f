import Base
import ChatCore
import Namespace
import Outbox
import Posix

/// Pasted folders, from their first file until each is sent as one archive. Drives their machines. `PastedChanges`
/// implements the user's changes.
///
/// Thread-safe; archives are made on the threads of `PastedTimers`, and after the unmount on `ThreadPool.shared`.
final class PastedFolders: Sendable {
    let tree: PastedTree
    private let names: Namespace
    private let drafts: DraftTable
    private let notices: TreeNotices
    private let archives: FolderArchives
    private let timers: PastedTimers
    private let log = Log("filesystem")

    /// Retry delay after temporary errors, such as a full disk.
    private static let longWait = Duration.seconds(60)

    init(
        tree: PastedTree, names: Namespace, drafts: DraftTable, notices: TreeNotices,
        archives: FolderArchives, quietTime: Duration
    ) {
        self.tree = tree
        self.names = names
        self.drafts = drafts
        self.notices = notices
        self.archives = archives
        timers = PastedTimers(quietTime: quietTime, longWait: Self.longWait)
        timers.whenOver { [weak self] in self?.look($0, $1) }
    }

    // MARK: - Events

    /// Records a change of a folder's content.
    func changed(_ id: NodeID) {
        if let root = tree.root(of: id) { apply(.changed, to: root.id) }
    }

    /// Must precede each change of a folder's content. Withdraws the archives that would tell the next mount that the
    /// folder is complete. A stopped folder continues only after `changed`. Blocks.
    /// - Throws: The error that prevents the withdrawal of an archive; the change must not be made then.
    func willChange(_ id: NodeID) throws {
        guard let root = tree.root(of: id), let (action, begun) = tree.beginChange(of: root.id) else {
            return
        }
        if let action { perform(action, root.id) }
        for (index, archive) in begun.enumerated() {
            do {
                try archives.forget(archive)
            } catch {
                tree.note(archives: Array(begun[index...]), of: root.id)
                throw error
            }
        }
    }

    /// Sends a stopped folder as it is.
    func retry(_ id: NodeID) -> Answer<Void> {
        guard let root = tree.root(of: id), tree.machine(root.id)?.problem != nil else {
            return .refused(.notPermitted)
        }
        apply(.retryRequested, to: root.id)
        return .done(())
    }

    /// Returns the reason that a folder is not sent; nil if it will be sent, and for entries within a folder.
    func problem(of id: NodeID) -> String? { tree.machine(id)?.problem }

    /// Removes the folders of a deleted chat.
    func remove(inChat folder: NodeID) {
        for root in tree.children(of: folder, after: nil) { tree.remove(root.id) }
    }

    /// Removes the node of a draft that ended without the user's action.
    func remove(_ draft: DraftID) {
        if let node = tree.node(of: draft) { tree.remove(node.id) }
    }

    // MARK: - Lifecycle

    /// Shows a part that an earlier mount left. Returns false for other drafts and for parts that cannot be sent.
    func restore(_ draft: any DraftFile) -> Bool {
        let snapshot = draft.snapshot
        guard let path = PartPath(snapshot.name) else { return false }
        if path.isArchive || snapshot.state == .recovered { return path.isArchive }
        guard var folder = names.node(of: draft.chat)?.id else { return false }
        for name in path.names.dropLast().map({ EntryName($0) }) {
            guard let node = tree.child(name, of: folder) ?? tree.add(.pastedFolder, named: name, in: folder)
            else { return true }
            folder = node.id
        }
        drafts.add(draft)
        _ = tree.add(.draft(draft.entryID), named: EntryName(path.fileName), in: folder)
        return true
    }

    /// Continues the folders that an earlier mount knew to be complete. Called after all parts are restored. Blocks.
    /// - Parameter all: All known drafts.
    func begin(with all: [any DraftFile]) {
        let left = all.compactMap { draft in PartPath(draft.snapshot.name).map { (draft: draft, path: $0) } }
        var begun = left.filter(\.path.isArchive)
        for root in tree.roots {
            let chat = names.node(root.folder).flatMap(Self.chat)
            let own = left.filter { $0.draft.chat == chat && $0.path.folder == root.name.bytes }
            let marks = own.filter(\.path.isArchive).map(\.draft.id)
            let isComplete = Self.isComplete(own)
            // A mark whose removal fails stays noted: the first change removes it or is refused.
            tree.note(archives: marks, of: root.id)
            if isComplete { begun.removeAll { marks.contains($0.draft.id) } }
            apply(.found(wasComplete: isComplete), to: root.id)
        }
        // These marks are wrong now, and the next start would trust them.
        for archive in begun { archives.discard(archive.draft) }
    }

    /// Returns true if no part was open and none is newer than an archive begun when all parts were there.
    private static func isComplete(_ drafts: [(draft: any DraftFile, path: PartPath)]) -> Bool {
        let marks = drafts.filter(\.path.isArchive).map(\.draft)
        guard let mark = marks.max(by: { $0.id < $1.id }) else { return false }
        let (last, version) = (mark.id, mark.partVersion)
        return drafts.allSatisfy { draft, path in
            if path.isArchive { return true }
            // A part rewritten during the hand-over keeps its old number.
            return draft.state != .recovered && draft.id < last
                && !draft.partVersion.wasClosed(after: version)
        }
    }

    /// Called after the unmount. Hands over complete folders; uncertain ones stay for the next mount.
    /// - Parameter isIdle: True if the unmount was requested and nothing was open.
    func end(isIdle: Bool) async {
        for root in tree.roots {
            guard let attempt = timers.end(root.id, isIdle: isIdle) else { continue }
            await ThreadPool.shared.run { self.look(root.id, attempt) }
        }
    }

    // MARK: - Actions

    private func apply(_ event: PastedFolderEvent, to root: NodeID) {
        if let action = tree.apply(event, to: root) { perform(action, root) }
    }

    private func perform(_ action: PastedFolderAction, _ root: NodeID) {
        switch action {
        case .wait(let attempt, let isLong): timers.wait(root, attempt, isLong: isLong)
        case .tell: notices.changed(root, tree.node(root))
        case .archive(let attempt): archive(root, attempt)
        case .handOver: break
        }
    }

    /// Called when the quiet time is over. Blocks.
    private func look(_ root: NodeID, _ attempt: Int) {
        apply(.quiet(attempt: attempt, content(of: root)), to: root)
    }

    private func content(of root: NodeID) -> PastedFolderContent {
        var content = PastedFolderContent.empty
        for draft in parts(of: root) {
            switch draft.partState {
            case .open: return .open
            case .incomplete(let reason): content = .incomplete(reason)
            case .complete: if content == .empty { content = .complete }
            }
        }
        return content
    }

    private func parts(of root: NodeID) -> [any DraftFile] {
        tree.contents(of: root).compactMap { entry in
            guard case .draft(let id) = entry.node.content else { return nil }
            return drafts.draft(id)
        }
    }

    /// Makes the archive and replaces the folder. Blocks.
    private func archive(_ root: NodeID, _ attempt: Int) {
        guard let node = tree.node(root), let chat = names.node(node.folder).flatMap(Self.chat) else {
            return
        }
        let isCurrent: @Sendable () -> Bool = { [tree] in tree.machine(root)?.isArchiving(attempt) == true }
        let (archive, parts): (any DraftFile, [PartVersion])
        do {
            (archive, parts) = try archives.make(of: node, in: chat, while: isCurrent)
        } catch {
            return failed(root, attempt, error)
        }
        guard tree.apply(.archived(attempt: attempt), to: root) == .handOver else {
            return archives.discard(archive)
        }
        do {
            let isWanted = tree.machine(root)?.isWantedAsItIs ?? false
            let shown = try archives.handOver(
                archive, of: node, replacing: parts, evenIncomplete: isWanted)
            notices.happened([.appeared(shown)] + takeAway(parts, of: node))
            apply(.replaced(attempt: attempt), to: root)
        } catch {
            // A mark whose removal fails stays noted: the first change removes it or is refused.
            tree.note(archives: [archive.id], of: root)
            archives.discard(archive)
            failed(root, attempt, error)
        }
    }

    /// Removes the archived parts, and the folder unless new entries arrived.
    private func takeAway(_ parts: [PartVersion], of folder: Node) -> [NamespaceChange] {
        var gone: [NamespaceChange] = []
        for part in parts {
            if let draft = drafts.draft(DraftID(part.id)) { drafts.remove(draft) }
            guard let node = tree.node(of: DraftID(part.id)) else { continue }
            tree.remove(node.id)
            gone.append(.vanished(node.id, node.name, in: node.folder))
        }
        guard self.parts(of: folder.id).isEmpty else { return gone }
        tree.remove(folder.id)
        return [.vanished(folder.id, folder.name, in: folder.folder)]
    }

    private func failed(_ root: NodeID, _ attempt: Int, _ error: any Error) {
        // The folder changed: a new attempt follows.
        if error is CancellationError { return }
        let code = (error as? OutboxError)?.code
        let problem = "The archive of this folder could not be made. \(sentence(of: error))"
        log.warning("folder not archived: error=\(sentenceWithCauses(of: error))")
        let mayPass = code == .noSpace || code == .notPermitted
        apply(.failed(attempt: attempt, problem, mayPass: mayPass), to: root)
    }

    static func chat(_ node: Node) -> ChatReference? {
        if case .chat(let chat) = node.content { chat.reference } else { nil }
    }
}
