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
        try await ThreadPool.shared.run { () throws(any Error) in
            _ = try names.show(chats)
            for draft in waiting where !folders.restore(draft) { try show(draft) }
            folders.begin(with: waiting)
            try names.removeUnseen()
        }
        // Before the outbox goes on sending them: what became of a draft keeps its name.
        for chat in Set(waiting.map(\.chat)) { try await loader.load(chat) }
        return chats
    }

    /// Shows a draft of an earlier mount, under the name that its writer gave it last.
    private func show(_ draft: any DraftFile) throws {
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
                // Sent, and its name was noted as the item's, but the process ended before the outbox
                // was told. It tells of the item again, and is told then.
                guard error.code == .nameTaken, draft.state == .sent else { throw error }
                drafts.remove(draft)
            }
        }
    }
}
