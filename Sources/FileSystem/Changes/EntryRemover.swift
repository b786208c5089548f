import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// unlink(2): removes a draft, takes a queued or sending file back, or deletes an item where the mount was told to.
/// Has no state of its own. Any thread.
final class EntryRemover: Sendable {
    private let names: Namespace
    private let nodes: NodeLookup
    private let outbox: any DraftStore
    private let drafts: DraftChanges
    private let core: any ChatCore
    private let contents: any ContentStore
    private let notices: TreeNotices
    private let rule: DeletionRule
    private let readers: LastReaders
    private let user: UserConnection

    init(
        names: Namespace, nodes: NodeLookup, outbox: any DraftStore, drafts: DraftChanges,
        core: any ChatCore, contents: any ContentStore, notices: TreeNotices,
        rule: DeletionRule, readers: LastReaders, user: UserConnection
    ) {
        self.readers = readers
        self.user = user
        self.names = names
        self.nodes = nodes
        self.outbox = outbox
        self.drafts = drafts
        self.core = core
        self.contents = contents
        self.notices = notices
        self.rule = rule
    }

    /// - Parameter thread: who removes, 0 when the kernel does not say.
    func remove(_ name: EntryName, in folder: NodeID, by thread: pid_t = 0) -> Answer<Void> {
        guard let node = names.child(name, of: folder) else { return .refused(.notFound) }
        switch node.content {
        case .root, .control, .status, .transfers, .recovered, .marker, .chat, .pastedFolder, .thumbnails,
            .thumbnail, .messages, .messageLog:
            return .refused(.notPermitted)
        case .draft(let id):
            guard let draft = nodes.draft(id, at: node.id) else { return .refused(.notFound) }
            return .later { [self] in await remove(draft, at: node.id, name, in: folder) }
        case .item(let item):
            if let file = item.file, item.isBeingSent {
                return .waiting { [self] in try await takeBack(item, file) }
            }
            switch rule.mode(of: item) {
            case .failure(let error):
                return readers.isReader(thread, of: node.id) ? movedOut(node, error) : .refused(error)
            case .success(let mode): return .waiting { [self] in try await delete(item, mode: mode) }
            }
        }
    }

    /// A program has copied the file out, and removes it for that. An error now would say that the copy failed; the
    /// message stays, so its file is there again at once.
    private func movedOut(_ node: Node, _ error: FileSystemError) -> Answer<Void> {
        user.refused(.moveOut, error, node.name, in: node.folder)
        notices.reappeared(node)
        return .done(())
    }

    /// Of a draft that stays here nothing is sent, and its entry goes, without a request of the kernel.
    func discard(_ id: NodeID) -> Answer<Void> {
        guard let node = nodes.node(id), let draft = nodes.editableDraft(node), draft.snapshot.problem != nil
        else {
            return .refused(.notPermitted)
        }
        return .blocking { [drafts] in
            try drafts.remove(draft, evenAtTheCore: false, isRequested: false)
        }
    }

    /// A file that the core is taking can be taken back for good only when it is known as what it became. The core
    /// is local and answers in moments; one that hangs is waited for five seconds.
    private func remove(
        _ draft: any DraftFile, at id: NodeID, _ name: EntryName, in folder: NodeID
    ) async -> Result<Void, FileSystemError> {
        let deadline = ContinuousClock.now + .seconds(5)
        while true {
            guard names.child(name, of: folder)?.id == id else { return .failure(.notFound) }
            guard isDraft(id) else { return await remove(name, in: folder).result() }
            let isLate = ContinuousClock.now >= deadline
            if isLate || !draft.isAtTheCore {
                do {
                    try await ThreadPool.shared.run { [drafts] in
                        try drafts.remove(draft, evenAtTheCore: isLate)
                    }
                    return .success(())
                } catch {
                    // The core began to take it at that very moment.
                    guard !isLate, draft.isAtTheCore else { return .failure(FileSystemError(error)) }
                }
            }
            do {
                try await Task.sleep(for: .milliseconds(5))
            } catch {
                // Who asked waits no longer.
                return .failure(FileSystemError(EINTR))
            }
        }
    }

    private func isDraft(_ id: NodeID) -> Bool {
        if case .draft = names.node(id)?.content { true } else { false }
    }

    private func takeBack(_ item: ChatItem, _ file: ChatFile) async throws {
        try await core.cancelFile(file.id)
        try await delete(item, mode: .internal)
    }

    private func delete(_ item: ChatItem, mode: DeletionMode) async throws {
        if item.direction == .sent {
            try await ThreadPool.shared.run { [outbox] () throws(OutboxError) in try outbox.synchronise() }
        }
        do throws(ChatError) {
            try await core.deleteItems([item.id], in: item.chat, mode: mode)
        } catch {
            // Else somebody was faster.
            guard error.code == .noSuchItem else { throw error }
        }
        if let file = item.file { contents.remove(file.id, atOnce: false) }
        let changes = try await ThreadPool.shared.run { [names] in try names.remove([item.id]) }
        for change in changes { notices.requested(change) }
    }
}

extension DraftFile {
    /// Being handed over, or handed over and not known as an item yet.
    fileprivate var isAtTheCore: Bool { [.sending, .sent].contains(state) }
}
