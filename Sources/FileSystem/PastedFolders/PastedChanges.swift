import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// Changes in pasted folders. They permit all operations of a local folder, because nothing is sent before the folder
/// is quiet. Each change goes first to the outbox, then to the tree. Stateless.
final class PastedChanges: Sendable {
    private let tree: PastedTree
    private let folders: PastedFolders
    private let names: Namespace
    private let outbox: any DraftStore
    private let drafts: DraftTable
    private let permissions: MountPermissions

    init(
        folders: PastedFolders, names: Namespace, outbox: any DraftStore, drafts: DraftTable,
        permissions: MountPermissions
    ) {
        tree = folders.tree
        self.folders = folders
        self.names = names
        self.outbox = outbox
        self.drafts = drafts
        self.permissions = permissions
    }

    /// Returns true if the folder or its child of this name is pasted.
    func concerns(_ name: EntryName, in folder: NodeID) -> Bool {
        PastedTree.holds(folder) || tree.child(name, of: folder) != nil
    }

    // MARK: - Creating

    /// Creates a folder. The parent must be loaded.
    func makeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Node> {
        if let error = refusalOfFolder(name, in: folder) { return .refused(error) }
        return .blocking { [self] in
            try folders.willChange(folder)
            // No arriving item may take the name between check and creation.
            let node = try names.whileUnchanged { () throws(FileSystemError) in
                if let error = refusalOfFolder(name, in: folder) { throw error }
                guard let node = tree.add(.pastedFolder, named: name, in: folder) else { throw .gone }
                return node
            }
            folders.changed(node.id)
            return node
        }
    }

    private func refusalOfFolder(_ name: EntryName, in folder: NodeID) -> FileSystemError? {
        if let error = DraftChanges.refusal(of: name) { return error }
        guard PastedTree.holds(folder) else { return refusal(of: name, inChat: folder) }
        guard tree.node(folder) != nil else { return .gone }
        if tree.child(name, of: folder) != nil { return FileSystemError(EEXIST) }
        return limit(in: folder, isFolder: true)
    }

    /// Must precede a write to or a truncation of a part. Blocks.
    func willWrite(_ id: NodeID) throws { try folders.willChange(id) }

    /// Records a truncation by path, which no release reports.
    func wrote(_ id: NodeID) { folders.changed(id) }

    private func refusal(of name: EntryName, inChat folder: NodeID) -> FileSystemError? {
        guard !name.description.hasPrefix(".Trash"), case .chat(let chat)? = names.node(folder)?.content
        else {
            return .notPermitted
        }
        // Programs create such folders next to the files that they show.
        if name.bytes.first == UInt8(ascii: ".") {
            return FileSystemError(
                EPERM, "Hidden folders are not sent: choose a name without a leading dot.")
        }
        guard permissions.folders == .archive else {
            return FileSystemError(
                EPERM, "A folder cannot be sent from here: send its files, or a ZIP archive of it.",
                permission: permissions.forFolders)
        }
        if names.child(name, of: folder) != nil || tree.child(name, of: folder) != nil {
            return FileSystemError(EEXIST)
        }
        return chat.sendingRefused.map { FileSystemError(EACCES, $0) }
    }

    private func limit(in folder: NodeID, isFolder: Bool) -> FileSystemError? {
        guard tree.node(folder) != nil else { return .gone }
        if isFolder, tree.path(of: folder).count >= PastedTree.maxDepth {
            return FileSystemError(
                ELOOP, "A sent folder can have at most \(PastedTree.maxDepth) levels of folders.")
        }
        if tree.count >= PastedTree.maxEntries {
            return FileSystemError(
                EDQUOT,
                "Folders waiting to be sent can contain at most \(PastedTree.maxEntries) files and folders.")
        }
        return nil
    }

    /// Creates an empty part, opened for writing, and runs `body`. Removes the part if `body` fails. Blocks.
    func make<Value>(
        _ name: EntryName, in folder: NodeID, _ body: (Node, any DraftFile) throws -> Value
    ) throws -> Value {
        if let error = limit(in: folder, isFolder: false) { throw error }
        try folders.willChange(folder)
        // A rename of the folder comes before and is in the path, or comes after and includes the part.
        let (draft, node) = try names.whileUnchanged { () throws -> (any DraftFile, Node?) in
            let draft = try outbox.createPart(path(of: name, in: folder), in: try chat(of: folder))
            drafts.add(draft)
            return (draft, tree.add(.draft(draft.entryID), named: name, in: folder))
        }
        do {
            guard let node else { throw FileSystemError.gone }
            let value = try body(node, draft)
            folders.changed(node.id)
            return value
        } catch {
            draft.closed(.ofItsMaker)
            if let node = tree.node(of: draft.entryID) { tree.remove(node.id) }
            outbox.removeRemains(of: draft)
            drafts.remove(draft)
            throw error
        }
    }

    private func chat(of folder: NodeID) throws -> ChatReference {
        guard let root = tree.root(of: folder), let node = names.node(root.folder),
            let chat = PastedFolders.chat(node)
        else { throw FileSystemError.gone }
        return chat
    }

    private func path(of name: EntryName, in folder: NodeID) -> PartPath {
        PartPath((tree.path(of: folder) + [name]).map(\.bytes))
    }

    // MARK: - Renaming

    /// Renames within one pasted folder, or renames that folder within its chat. Refuses other renames with EPERM. The
    /// folders must be loaded.
    func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32
    ) -> Answer<Void> {
        guard let node = tree.child(name, of: folder) else {
            return .refused(names.child(name, of: folder) == nil ? .notFound : .notPermitted)
        }
        if let error = DraftChanges.refusal(of: newName) { return .refused(error) }
        // renameat2(2): 1 is RENAME_NOREPLACE.
        guard flags & ~1 == 0 else { return .refused(FileSystemError(EINVAL)) }
        if name == newName && folder == newFolder { return .done(()) }
        let isWithin = PastedTree.holds(folder) && PastedTree.holds(newFolder)
        guard isWithin ? tree.root(of: folder)?.id == tree.root(of: newFolder)?.id : folder == newFolder
        else {
            return .refused(.notPermitted)
        }
        if isWithin, node.isFolder,
            tree.path(of: newFolder).count + tree.depth(of: node.id) > PastedTree.maxDepth
        {
            return .refused(FileSystemError(ELOOP))
        }
        let target = tree.child(newName, of: newFolder)
        let isTaken = target != nil || (!isWithin && names.child(newName, of: newFolder) != nil)
        if isTaken && flags & 1 != 0 { return .refused(FileSystemError(EEXIST)) }
        if isTaken && target == nil { return .refused(.notPermitted) }
        if let target, let error = refusal(of: node, over: target) { return .refused(error) }
        return .blocking { [self] in
            try rename(node, to: newName, in: newFolder, replacing: target)
        }
    }

    private func refusal(of node: Node, over target: Node) -> FileSystemError? {
        if target.isFolder != node.isFolder {
            return FileSystemError(target.isFolder ? EISDIR : ENOTDIR)
        }
        return target.isFolder && !tree.isEmpty(target.id) ? FileSystemError(ENOTEMPTY) : nil
    }

    private func rename(
        _ node: Node, to name: EntryName, in folder: NodeID, replacing target: Node?
    ) throws {
        try folders.willChange(node.id)
        // No arriving item may take the name, and no part may be created with the old path, between check and move.
        try names.whileUnchanged { () throws in
            if !PastedTree.holds(folder), names.child(name, of: folder) != nil {
                throw FileSystemError(EEXIST)
            }
            try renameParts(of: node, to: name, in: folder)
            tree.move(node.id, to: name, in: folder)
        }
        if let target, case .draft(let id) = target.content, let draft = drafts.draft(id) {
            drafts.remove(draft)
        }
        folders.changed(node.id)
    }

    /// Renames all parts in the outbox, or none.
    private func renameParts(of node: Node, to name: EntryName, in folder: NodeID) throws {
        let depth = tree.path(of: node.id).count
        let above = (PastedTree.holds(folder) ? tree.path(of: folder) : []) + [name]
        let moves = tree.contents(of: node.id).compactMap { path, part -> (id: Int64, path: PartPath)? in
            guard case .draft(let draft) = part.content else { return nil }
            return (draft.rawValue, PartPath((above + path.dropFirst(depth)).map(\.bytes)))
        }
        if node.isFolder { return try outbox.rename(moves) }
        // The file may replace another one.
        for move in moves { try outbox.rename(move.id, to: move.path.bytes) }
    }

    // MARK: - Removing

    func unlink(_ name: EntryName, in folder: NodeID) -> Answer<Void> {
        guard let node = tree.child(name, of: folder) else { return .refused(.notFound) }
        guard case .draft(let id) = node.content else { return .refused(.isFolder) }
        guard let draft = drafts.draft(id) else { return .refused(.notFound) }
        return .blocking { [self] in
            try folders.willChange(folder)
            if draft.state != .removed { try outbox.remove(draft.id) }
            tree.remove(node.id)
            drafts.remove(draft)
            folders.changed(folder)
        }
    }

    func removeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Void> {
        guard let node = tree.child(name, of: folder) else {
            return .refused(names.child(name, of: folder) == nil ? .notFound : .notPermitted)
        }
        guard node.isFolder else { return .refused(FileSystemError(ENOTDIR)) }
        guard tree.isEmpty(node.id) else { return .refused(FileSystemError(ENOTEMPTY)) }
        return .blocking { [self] in
            try folders.willChange(node.id)
            guard tree.isEmpty(node.id) else { throw FileSystemError(ENOTEMPTY) }
            tree.remove(node.id)
            folders.changed(folder)
        }
    }
}
