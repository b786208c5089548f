import Base
import ChatCore
import Namespace
import Outbox
import Posix

/// Applies draft changes that the user did not make to the tree. A change that fails part-way can be applied again as a
/// whole. Stateless.
struct DraftEvents: Sendable {
    let names: Namespace
    let contents: any ContentStore
    let outbox: any DraftStore
    let drafts: DraftTable
    let references: KernelReferences
    let notices: TreeNotices
    let tree: TreeUpdater
    let folders: PastedFolders
    private let log = Log("filesystem")

    func take(_ change: DraftChange) async throws {
        switch change {
        case .changed(let draft):
            guard let node = names.node(of: draft.entryID) else { return }
            notices.changed(node.id, node)
        case .removed(let draft):
            folders.remove(draft.entryID)
            try await takeNameAway(from: draft)
            drafts.remove(draft)
        case .recovered(let draft): try await recover(draft)
        case .became(let draft, let item): try await hand(draft, to: item)
        }
    }

    /// Moves a draft to the recovered folder in two steps. The first step holds even if the second fails.
    private func recover(_ draft: any DraftFile) async throws {
        folders.remove(draft.entryID)
        if let before = names.node(of: draft.entryID), before.folder != .recovered {
            try await takeNameAway(from: draft)
            references.forgetAll(of: before.id)
        }
        let name = draft.snapshot.fileName
        try await tree.change { [names] in
            [.appeared(try names.show(recovered: draft.entryID, named: name))]
        }
    }

    private func takeNameAway(from draft: any DraftFile) async throws {
        try await tree.change { [names] in try names.remove(draft: draft.entryID).map { [$0] } ?? [] }
    }

    private func hand(_ draft: any DraftFile, to item: ChatItem) async throws {
        let node = names.node(of: draft.entryID)
        contents.update(item)
        let snapshot = draft.snapshot
        // Cleaning only removes metadata, so a size difference shows it.
        let isCleaned = item.file.map { $0.size != snapshot.size } ?? false
        // The chat was missing when the mount began, and returned.
        if node?.folder == .recovered { try await takeNameAway(from: draft) }
        try await tree.change { [names] in
            try names.draft(
                draft.entryID, became: item, named: snapshot.fileName, modified: snapshot.modified,
                isCleaned: isCleaned)
        }
        // The kernel holds the pages as written.
        if isCleaned, let node { notices.contentChanged(node.id) }
        await ThreadPool.shared.run { self.acknowledge(draft) }
        drafts.remove(draft)
        if let node { references.forgetAll(of: node.id) }
        try await tree.showCurrent(item)
    }

    private func acknowledge(_ draft: any DraftFile) {
        do {
            try outbox.acknowledge(draft.id)
        } catch {
            log.warning("sent draft not acknowledged: error=\(sentenceWithCauses(of: error))")
        }
    }
}

extension DraftChange {
    var draft: any DraftFile {
        switch self {
        case .changed(let draft), .became(let draft, _), .removed(let draft), .recovered(let draft): draft
        }
    }
}

extension DraftSnapshot {
    /// The file's name; for a part of a pasted folder, the last component of its path.
    var fileName: EntryName { EntryName(PartPath(name)?.fileName ?? name) }
}
