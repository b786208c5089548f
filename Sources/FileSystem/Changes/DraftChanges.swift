import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// Renames, removes and retries drafts: each change goes first to the outbox, then to the index of names. Stateless;
/// thread-safe.
struct DraftChanges: Sendable {
    let names: Namespace
    let outbox: any DraftStore
    let drafts: DraftTable
    let nodes: NodeLookup
    let notices: TreeNotices
    let folders: PastedFolders
    let references: KernelReferences
    private let log = Log("filesystem")

    /// Returns the error for an invalid file name, or nil.
    static func refusal(of name: EntryName) -> FileSystemError? {
        if name.bytes.count > EntryName.maxLength { return FileSystemError(ENAMETOOLONG) }
        return name.isValidUTF8 ? nil : FileSystemError(EILSEQ)
    }

    /// Creates a draft and runs `body`. Removes the draft if `body` fails. Blocks.
    func make<Value>(
        _ name: EntryName, in folder: NodeID, of chat: ChatReference,
        _ body: (Node, any DraftFile) throws -> Value
    ) throws -> Value {
        let draft = try outbox.createDraft(named: name.bytes, in: chat)
        drafts.add(draft)
        do {
            let node = try names.show(draft: draft.entryID, named: name, in: folder)
            notices.requested(.appeared(node))
            return try body(node, draft)
        } catch {
            draft.closed(.ofItsMaker)
            outbox.removeRemains(of: draft)
            drafts.remove(draft)
            throw error
        }
    }

    /// Returns the editable draft of this name, or nil.
    func draft(_ name: EntryName, in folder: NodeID) -> (any DraftFile)? {
        names.child(name, of: folder).flatMap(nodes.editableDraft)
    }

    /// Renames a draft within its folder. Refuses any other rename with EPERM, because EXDEV would make programs copy,
    /// and a copy is sent as a message.
    func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32,
        by thread: pid_t
    ) -> Answer<Void> {
        guard let node = names.child(name, of: folder) else { return .refused(.notFound) }
        guard folder == newFolder, let draft = nodes.editableDraft(node) else {
            return .refused(.notPermitted)
        }
        // renameat2(2): 1 is RENAME_NOREPLACE. RENAME_EXCHANGE is not supported.
        guard flags & ~1 == 0 else { return .refused(FileSystemError(EINVAL)) }
        if let error = Self.refusal(of: newName) { return .refused(error) }
        if name == newName { return .done(()) }
        let target = names.child(newName, of: folder)
        if target != nil && flags & 1 != 0 { return .refused(FileSystemError(EEXIST)) }
        let replaced = target.flatMap(nodes.editableDraft)
        if target != nil && replaced == nil { return .refused(.notPermitted) }
        return .blocking { [self] in
            try rename(draft, from: name, to: newName, replacing: target, by: thread)
            if let replaced { drafts.remove(replaced) }
        }
    }

    private func rename(
        _ draft: any DraftFile, from name: EntryName, to newName: EntryName, replacing target: Node?,
        by thread: pid_t
    ) throws {
        try outbox.rename(draft.id, to: newName.bytes, by: thread)
        do {
            let before = names.node(of: draft.entryID)
            try names.rename(draft: draft.entryID, to: newName, replacing: target)
            if let target { notices.requested(.vanished(target.id, target.name, in: target.folder)) }
            if let before {
                notices.requested(.vanished(before.id, before.name, in: before.folder))
                notices.requested(.appeared(before))
            }
        } catch {
            // The replaced draft is gone. Restore the name in the outbox, so that outbox and index agree.
            do {
                try outbox.rename(draft.id, to: name.bytes)
            } catch {
                log.error("draft name not restored in the outbox: error=\(sentenceWithCauses(of: error))")
            }
            throw error
        }
    }

    /// Removes a draft, which is never sent, and frees its name. Blocks.
    /// - Parameters:
    ///   - evenAtTheCore: If true, also removes a draft that the core is accepting, and cancels it there afterwards.
    ///   - isRequested: True if a kernel request removes it, so that the kernel needs no notice.
    func remove(_ draft: any DraftFile, evenAtTheCore: Bool, isRequested: Bool = true) throws {
        // True if an earlier removal failed to write the index.
        if draft.state != .removed { try outbox.remove(draft.id, evenAtTheCore: evenAtTheCore) }
        if let change = try names.remove(draft: draft.entryID) {
            if isRequested { notices.requested(change) } else { notices.happened([change]) }
        }
        drafts.remove(draft)
    }

    /// Sends a pasted folder as it is.
    func retry(folder: NodeID) -> Answer<Void> { folders.retry(folder) }

    /// Retries a draft that was refused, is unsure, may be unfinished or was recovered.
    func retry(_ draft: any DraftFile) -> Answer<Void> {
        .blocking { [self] in
            if draft.state == .recovered {
                try send(recovered: draft)
            } else if try !outbox.retry(draft.id) {
                throw FileSystemError.notPermitted
            }
        }
    }

    /// Moves a recovered draft back into its chat's folder, under its name or a similar one, and sends it. The next
    /// mount reverts the move of a draft that the outbox does not send.
    private func send(recovered draft: any DraftFile) throws {
        guard let folder = names.node(of: draft.chat)?.id, let before = names.node(of: draft.entryID),
            before.folder == .recovered
        else { throw FileSystemError.notPermitted }
        let name = draft.snapshot.fileName
        if let change = try names.remove(draft: draft.entryID) { notices.happened([change]) }
        references.forgetAll(of: before.id)
        do {
            let node = try names.show(draft: draft.entryID, namedLike: name, in: folder)
            guard try outbox.send(recovered: draft.id, named: node.name.bytes) else {
                throw FileSystemError.notPermitted
            }
            notices.happened([.appeared(node)])
        } catch {
            showAgain(recovered: draft, named: name)
            throw error
        }
    }

    private func showAgain(recovered draft: any DraftFile, named name: EntryName) {
        do {
            _ = try names.remove(draft: draft.entryID)
            notices.happened([.appeared(try names.show(recovered: draft.entryID, named: name))])
        } catch {
            // The next mount shows it.
            log.error("recovered draft not shown again: error=\(sentenceWithCauses(of: error))")
        }
    }
}
