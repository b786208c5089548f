import ChatCore
import Namespace
import Outbox
import Posix

/// What is there when a mount begins: the chats, and the drafts of earlier mounts in theirs. Has no state of its
/// own.
struct FirstTree: Sendable {
    private let names: Namespace
    private let core: any ChatCore
    private let outbox: any DraftStore
    private let drafts: DraftTable
    private let loader: FolderLoader
    private let folders: PastedFolders

    init(
        names: Namespace, core: any ChatCore, outbox: any DraftStore, drafts: DraftTable,
        loader: FolderLoader, folders: PastedFolders
    ) {
        self.folders = folders
        self.names = names
        self.core = core
        self.outbox = outbox
        self.drafts = drafts
        self.loader = loader
    }

    /// The chats that are shown.
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
        // Before the outbox goes on sending them: what became of a draft keeps its name.
        for chat in Set(waiting.map(\.chat)) { try await loader.load(chat) }
        if !blocked.isEmpty {
            try await ThreadPool.shared.run { () throws(any Error) in
                // Deleted files have given up theirs.
                for draft in try show(blocked) { try showBeside(draft) }
            }
        }
        return chats
    }

    /// Shows drafts of an earlier mount, each under the name that its writer gave it last.
    ///
    /// The outbox counts: it and the index of names are written one after the other, and each of them may have lost
    /// its end, so a name can be in use by a draft that has another one by now.
    /// - Returns: those whose names are in use by what keeps them.
    private func show(_ drafts: [any DraftFile]) throws -> [any DraftFile] {
        var left = drafts
        while true {
            let blocked = try left.filter { try !show($0) }
            if blocked.isEmpty || blocked.count == left.count { return blocked }
            left = blocked
        }
    }

    /// False: its name is in use.
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
            // Its chat was deleted while nothing was mounted: nobody gets it, and its user may have nothing else of it.
            try names.show(recovered: id, named: name)
        }
        return true
    }

    /// Shows a draft whose name something else keeps: a mount is never refused for that.
    private func showBeside(_ draft: any DraftFile) throws {
        // Under the name that it had before.
        if names.node(of: draft.entryID) != nil { return }
        if draft.state == .sent {
            // Its name was noted as the item's, but the process ended before the outbox was told. It tells of the
            // item again, and is told then.
            drafts.remove(draft)
        } else if let folder = names.node(of: draft.chat)?.id {
            try names.show(draft: draft.entryID, namedLike: draft.snapshot.fileName, in: folder)
        }
    }
}
