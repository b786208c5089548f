import ChatCore
import Namespace
import Outbox
import Posix

/// Builds the tree of a new mount: the chats and the drafts of earlier mounts. Stateless.
struct InitialTree: Sendable {
    let names: Namespace
    let core: any ChatCore
    let outbox: any DraftStore
    let drafts: DraftTable
    let loader: FolderLoader
    let folders: PastedFolders

    /// Shows the chats and drafts, and returns the chats.
    func show() async throws -> [Chat] {
        let chats = try await core.chats()
        let waiting = outbox.draftFiles()
        let blocked = try await ThreadPool.shared.run { () throws(any Error) in
            _ = try names.show(chats)
            try names.forgetDrafts(except: Set(waiting.map(\.entryID)))
            let blocked = try show(waiting.filter { !folders.restore($0) })
            folders.begin(with: waiting)
            try names.removeUnseen()
            return blocked
        }
        // Must precede the outbox's resumed sending: a sent draft keeps its name.
        for chat in Set(waiting.map(\.chat)) { try await loader.load(chat) }
        if !blocked.isEmpty {
            try await ThreadPool.shared.run { () throws(any Error) in
                // Loading freed the names of deleted files.
                for draft in try show(blocked) { try showBeside(draft) }
            }
        }
        return chats
    }

    /// Shows drafts of an earlier mount under their last names.
    ///
    /// The outbox is authoritative. The outbox and the index are written one after the other and each may have lost its
    /// last writes, so a name can belong to a draft that was renamed since.
    /// - Returns: Drafts whose names are still in use.
    private func show(_ drafts: [any DraftFile]) throws -> [any DraftFile] {
        var left = drafts
        while true {
            let blocked = try left.filter { try !show($0) }
            if blocked.isEmpty || blocked.count == left.count { return blocked }
            left = blocked
        }
    }

    /// Returns false if the name is in use.
    private func show(_ draft: any DraftFile) throws -> Bool {
        let id = draft.entryID
        let name = draft.snapshot.fileName
        drafts.add(draft)
        if draft.state == .recovered {
            try names.show(recovered: id, named: name)
        } else if let folder = names.node(of: draft.chat)?.id {
            do throws(NamespaceError) {
                let node = try names.show(draft: id, named: name, in: folder)
                if node.name != name { try names.rename(draft: id, to: name) }
            } catch {
                guard error.code == .nameTaken else { throw error }
                return false
            }
        } else if draft.state != .sent {
            // The chat was deleted while unmounted; the draft may be the user's only copy.
            try names.show(recovered: id, named: name)
        }
        return true
    }

    /// Shows a draft whose name is in use under a similar name. A name conflict never prevents a mount.
    private func showBeside(_ draft: any DraftFile) throws {
        // The draft still has its earlier name.
        if names.node(of: draft.entryID) != nil { return }
        if draft.state == .sent {
            // The process ended after the index recorded the item's name and before the outbox was told. The outbox
            // reports the item again.
            drafts.remove(draft)
        } else if let folder = names.node(of: draft.chat)?.id {
            try names.show(draft: draft.entryID, namedLike: draft.snapshot.fileName, in: folder)
        }
    }
}
