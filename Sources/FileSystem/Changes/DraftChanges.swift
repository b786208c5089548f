import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// What their writers do to drafts beyond writing: names, and their end. Each is done in the outbox first, then in
/// the index of names. Has no state of its own. Any thread.
final class DraftChanges: Sendable {
    private let names: Namespace
    private let outbox: any DraftStore
    private let drafts: DraftTable
    private let nodes: NodeLookup
    private let notices: TreeNotices
    private let folders: PastedFolders
    private let references: KernelReferences
    private let log = Log("filesystem")

    init(
        names: Namespace, outbox: any DraftStore, drafts: DraftTable, nodes: NodeLookup,
        notices: TreeNotices, folders: PastedFolders, references: KernelReferences
    ) {
        self.references = references
        self.folders = folders
        self.names = names
        self.outbox = outbox
        self.drafts = drafts
        self.nodes = nodes
        self.notices = notices
    }

    /// Why no file can get this name.
    static func refusal(of name: EntryName) -> FileSystemError? {
        if name.bytes.count > EntryName.maxLength { return FileSystemError(ENAMETOOLONG) }
        return name.isValidUTF8 ? nil : FileSystemError(EILSEQ)
    }

    /// Makes a draft and has `body` do the rest; it goes again when that fails. Blocks.
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
            // It is empty: the next mount drops what is left of it.
            try? outbox.remove(draft.id)
            drafts.remove(draft)
            throw error
        }
    }

    /// The draft of this name that may still be changed.
    func draft(_ name: EntryName, in folder: NodeID) -> (any DraftFile)? {
        names.child(name, of: folder).flatMap(nodes.editableDraft)
    }

    /// Gives a draft its final name (or any other) in its folder. Everything else is refused: with
    /// EXDEV programs would copy, and a copy is a message.
    func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32,
        by thread: pid_t
    ) -> Answer<Void> {
        guard let node = names.child(name, of: folder) else { return .refused(.notFound) }
        guard folder == newFolder, let draft = nodes.editableDraft(node) else {
            return .refused(.notPermitted)
        }
        // renameat2(2): 1 is RENAME_NOREPLACE; exchanging two names makes no sense here.
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
            // What was replaced is gone, but no file is under a name that the index does not know.
            do {
                try outbox.rename(draft.id, to: name.bytes)
            } catch {
                log.error("a draft has another name for the core than here: \(sentenceWithCauses(of: error))")
            }
            throw error
        }
    }

    /// Nothing of it is sent, and its name is free. Blocks.
    /// - Parameters:
    ///   - evenAtTheCore: also while the core is taking it, which is asked to forget it afterwards.
    ///   - isRequested: the kernel asked for it, and knows.
    func remove(_ draft: any DraftFile, evenAtTheCore: Bool, isRequested: Bool = true) throws {
        // Once it was, and the index could not be written.
        if draft.state != .removed { try outbox.remove(draft.id, evenAtTheCore: evenAtTheCore) }
        if let change = try names.remove(draft: draft.entryID) {
            if isRequested { notices.requested(change) } else { notices.happened([change]) }
        }
        drafts.remove(draft)
    }

    /// Has a folder that was copied into a chat sent as it is.
    func retry(folder: NodeID) -> Answer<Void> { folders.retry(folder) }

    /// Sends once more what was refused, is unsure, or may be unfinished, and what was recovered.
    func retry(_ draft: any DraftFile) -> Answer<Void> {
        .blocking { [self] in
            if draft.state == .recovered {
                try send(recovered: draft)
            } else if try !outbox.retry(draft.id) {
                throw FileSystemError.notPermitted
            }
        }
    }

    /// It goes back into the folder of its chat first, under its name or one like it: what is sent has the entry's name.
    /// The next mount undoes that of what the outbox does not send.
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
            _ = try? names.remove(draft: draft.entryID)
            if let node = try? names.show(recovered: draft.entryID, named: name) {
                notices.happened([.appeared(node)])
            }
            throw error
        }
    }
}
