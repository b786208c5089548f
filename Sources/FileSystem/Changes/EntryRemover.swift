import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// Implements unlink(2): removes a draft, withdraws a queued or sending file, or deletes an item if the mount's policy
/// permits. Stateless; thread-safe.
struct EntryRemover: Sendable {
    let names: Namespace
    let nodes: NodeLookup
    let outbox: any DraftStore
    let drafts: DraftChanges
    let core: any ChatCore
    let contents: any ContentStore
    let notices: TreeNotices
    let rule: DeletionRule
    let readers: RecentReaders
    let user: UserConnection
    /// Maximum wait for the core.
    let timeout: Duration

    /// - Parameter thread: The calling thread; 0 if unknown.
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
                return answer { [self] in try await takeBack(item, file) }
            }
            switch rule.mode(of: item) {
            case .failure(let error):
                return readers.isReader(thread, of: node.id) ? movedOut(node, error) : .refused(error)
            case .success(let mode): return answer { [self] in try await delete(item, mode: mode) }
            }
        }
    }

    /// Reports success for a removal that may end a move out of the mount. An error would suggest that the copy failed.
    /// The message stays, so its file reappears at once.
    private func movedOut(_ node: Node, _ error: FileSystemError) -> Answer<Void> {
        user.refused(.moveOut, error, node.name, in: node.folder)
        notices.reappeared(node)
        return .done(())
    }

    /// Removes a refused or failed draft and its entry on a command's request.
    func discard(_ id: NodeID) -> Answer<Void> {
        guard let node = nodes.node(id), let draft = nodes.editableDraft(node), draft.snapshot.problem != nil
        else {
            return .refused(.notPermitted)
        }
        return .blocking { [drafts] in
            try drafts.remove(draft, evenAtTheCore: false, isRequested: false)
        }
    }

    /// Answers with the outcome of a removal. The name vanishes when a late removal is done.
    private func answer(_ removal: @escaping @Sendable () async throws -> [NamespaceChange]) -> Answer<Void> {
        Answer<[NamespaceChange]>.waiting(
            atMost: timeout, or: "The SimpleX core has not answered yet. The file is removed when it does.",
            late: { [notices] in notices.happened($0) }, removal
        )
        .map { [notices] changes in
            for change in changes { notices.requested(change) }
            return .success(())
        }
    }

    /// Removes a draft that the core may be accepting. Such a draft can be withdrawn only after it became an item.
    private func remove(
        _ draft: any DraftFile, at id: NodeID, _ name: EntryName, in folder: NodeID
    ) async -> Result<Void, FileSystemError> {
        let deadline = ContinuousClock.now + timeout
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
                    // The core began to accept the draft after the check.
                    guard !isLate, draft.isAtTheCore else { return .failure(FileSystemError(error)) }
                }
            }
            do {
                try await Task.sleep(for: .milliseconds(5))
            } catch {
                // The kernel interrupted the request.
                return .failure(FileSystemError(EINTR))
            }
        }
    }

    private func isDraft(_ id: NodeID) -> Bool {
        if case .draft = names.node(id)?.content { true } else { false }
    }

    private func takeBack(_ item: ChatItem, _ file: ChatFile) async throws -> [NamespaceChange] {
        try await core.cancelFile(file.id)
        return try await delete(item, mode: .internal)
    }

    private func delete(_ item: ChatItem, mode: DeletionMode) async throws -> [NamespaceChange] {
        if item.direction == .sent {
            try await ThreadPool.shared.run { [outbox] () throws(OutboxError) in try outbox.synchronise() }
        }
        do throws(ChatError) {
            try await core.deleteItems([item.id], in: item.chat, mode: mode)
        } catch {
            // Any other error is final; a missing item was deleted concurrently.
            guard error.code == .noSuchItem else { throw error }
        }
        if let file = item.file { contents.remove(file.id, atOnce: false) }
        return try await ThreadPool.shared.run { [names] in try names.remove([item.id]) }
    }
}

extension DraftFile {
    /// True while the outbox hands the draft to the core, and until its item is known.
    fileprivate var isAtTheCore: Bool { [.sending, .sent].contains(state) }
}
