import Base
import ChatCore
import Namespace
import Outbox
import Posix

/// Folders that are copied into chats, from their first file until each is one archive that is sent: tells their
/// machines what happens and performs what these say. What users change in them is `PastedChanges`.
///
/// Any thread; what blocks runs on `ThreadPool.shared`.
final class PastedFolders: Sendable {
    let tree: PastedTree
    private let names: Namespace
    private let drafts: DraftTable
    private let notices: TreeNotices
    private let archives: FolderArchives
    private let timers: PastedTimers
    private let log = Log("filesystem")

    /// A full disk has space again, perhaps.
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

    // MARK: - What happens

    /// Something in a folder is another than before.
    func changed(_ id: NodeID) {
        if let root = tree.root(of: id) { apply(.changed, to: root.id) }
    }

    /// Something in a folder is about to become another than it was. From here on no archive that was begun of it says to
    /// the next mount that the folder is complete. One that is stopped goes on only when `changed` says that it was
    /// changed. Blocks.
    /// - Throws: what keeps an archive from being removed; then nothing may be changed.
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

    /// The user wants what is there of a folder to be sent.
    func retry(_ id: NodeID) -> Answer<Void> {
        guard let root = tree.root(of: id), tree.machine(root.id)?.problem != nil else {
            return .refused(.notPermitted)
        }
        apply(.retryRequested, to: root.id)
        return .done(())
    }

    /// Why it is not sent; nil while it will be, and for what lies in it.
    func problem(of id: NodeID) -> String? { tree.machine(id)?.problem }

    /// A chat is gone, and with it what was copied into it.
    func remove(inChat folder: NodeID) {
        for root in tree.children(of: folder, after: nil) { tree.remove(root.id) }
    }

    /// A draft is one no more, without its user's doing.
    func remove(_ draft: DraftID) {
        if let node = tree.node(of: draft) { tree.remove(node.id) }
    }

    // MARK: - Beginning and end

    /// Shows a part that an earlier mount left. False when it is none, or nothing that can be sent.
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

    /// All that an earlier mount left was restored: what it knew to be complete goes on. Blocks.
    /// - Parameter all: the drafts that are known.
    func begin(with all: [any DraftFile]) {
        let left = all.compactMap { draft in PartPath(draft.snapshot.name).map { (draft: draft, path: $0) } }
        var begun = left.filter(\.path.isArchive)
        for root in tree.roots {
            let chat = names.node(root.folder).flatMap(Self.chat)
            let own = left.filter { $0.draft.chat == chat && $0.path.folder == root.name.bytes }
            let marks = own.filter(\.path.isArchive).map(\.draft.id)
            let isComplete = Self.isComplete(own)
            // What is to go below may stay: then the first change takes it away, or is refused.
            tree.note(archives: marks, of: root.id)
            if isComplete { begun.removeAll { marks.contains($0.draft.id) } }
            apply(.found(wasComplete: isComplete), to: root.id)
        }
        // What they say is not true any more, and would be believed at the next start, when there is less to see.
        for archive in begun { archives.discard(archive.draft) }
    }

    /// Nothing was being written, and nothing is newer than an archive that was begun when all was there.
    private static func isComplete(_ drafts: [(draft: any DraftFile, path: PartPath)]) -> Bool {
        let marks = drafts.filter(\.path.isArchive).map(\.draft)
        guard let mark = marks.max(by: { $0.id < $1.id }) else { return false }
        let (last, version) = (mark.id, mark.partVersion)
        return drafts.allSatisfy { draft, path in
            if path.isArchive { return true }
            // Written anew while the archive was taking its place, it has its old number.
            return draft.state != .recovered && draft.id < last
                && !draft.partVersion.wasClosed(after: version)
        }
    }

    /// The mount has gone. What is complete is handed over, what is not certain to be stays for the next mount.
    /// - Parameter isIdle: nothing was open on the mount when it went, and it was asked to go.
    func end(isIdle: Bool) async {
        for root in tree.roots {
            guard let attempt = timers.end(root.id, isIdle: isIdle) else { continue }
            await ThreadPool.shared.run { self.look(root.id, attempt) }
        }
    }

    // MARK: - Acting

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

    /// The quiet time is over. Blocks.
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

    /// Makes the archive, and puts it in the place of the folder. Blocks.
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
            // Where it stays, it says that the folder is complete: the first change takes it away, or is refused.
            tree.note(archives: [archive.id], of: root)
            archives.discard(archive)
            failed(root, attempt, error)
        }
    }

    /// What was archived goes, and the folder with it unless something else has come.
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
        // Somebody changes it: that will be looked at again.
        if error is CancellationError { return }
        let code = (error as? OutboxError)?.code
        let problem = "The archive of this folder could not be made. \(sentence(of: error))"
        log.warning("a folder could not be archived: \(sentenceWithCauses(of: error))")
        let mayPass = code == .noSpace || code == .notPermitted
        apply(.failed(attempt: attempt, problem, mayPass: mayPass), to: root)
    }

    static func chat(_ node: Node) -> ChatReference? {
        if case .chat(let chat) = node.content { chat.reference } else { nil }
    }
}
