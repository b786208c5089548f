import Base
import ChatCore
import Namespace
import Outbox
import Posix

/// What each change of a draft that its user did not make does to the tree. One that fails half way can be taken
/// again as a whole. Has no state of its own.
final class DraftEvents: Sendable {
    private let names: Namespace
    private let contents: any ContentStore
    private let outbox: any DraftStore
    private let drafts: DraftTable
    private let references: KernelReferences
    private let notices: TreeNotices
    private let tree: TreeUpdater
    private let folders: PastedFolders
    private let log = Log("filesystem")

    init(
        names: Namespace, contents: any ContentStore, outbox: any DraftStore, drafts: DraftTable,
        references: KernelReferences, notices: TreeNotices, tree: TreeUpdater, folders: PastedFolders
    ) {
        self.folders = folders
        self.names = names
        self.contents = contents
        self.outbox = outbox
        self.drafts = drafts
        self.references = references
        self.notices = notices
        self.tree = tree
    }

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

    /// In two steps: whatever keeps the second from being made, the first is done.
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
        // Only metadata is ever removed from what was written.
        let isCleaned = item.file.map { $0.size != snapshot.size } ?? false
        // Its chat was not there when the mount began, and is again.
        if node?.folder == .recovered { try await takeNameAway(from: draft) }
        try await tree.change { [names] in
            try names.draft(
                draft.entryID, became: item, named: snapshot.fileName, modified: snapshot.modified,
                isCleaned: isCleaned)
        }
        // The kernel has the bytes that were written.
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
            log.warning("a sent file is told of again by the next mount: \(sentenceWithCauses(of: error))")
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
    /// The name of the file; of a part of a folder the last of its path.
    var fileName: EntryName { EntryName(PartPath(name)?.fileName ?? name) }
}
