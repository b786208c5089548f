import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// The archives of folders: each is a draft that holds nothing else, until it takes the place of the folder. Has no
/// state of its own. All calls block.
final class FolderArchives: Sendable {
    private let names: Namespace
    private let outbox: any DraftStore
    private let tree: PastedTree
    private let drafts: DraftTable
    private let archiver: (any FolderArchiving)?
    private let log = Log("filesystem")

    /// - Parameter archiver: nil where there is none: nothing can be archived then.
    init(
        names: Namespace, outbox: any DraftStore, tree: PastedTree, drafts: DraftTable,
        archiver: (any FolderArchiving)?
    ) {
        self.names = names
        self.outbox = outbox
        self.tree = tree
        self.drafts = drafts
        self.archiver = archiver
    }

    /// The archive of all that is in a folder now, closed, and what it was made of.
    /// - Throws: `CancellationError` when `isCurrent` says no; what keeps it from being made. Nothing is left then.
    func make(
        of folder: Node, in chat: ChatReference, while isCurrent: @escaping @Sendable () -> Bool
    ) throws -> (archive: any DraftFile, parts: [PartVersion]) {
        guard let archiver else {
            throw FileSystemError(
                ENOSYS, "Folders cannot be archived: libarchive (package libarchive13) is not installed.")
        }
        let path = PartPath(archiveOf: folder.name.bytes)
        // One that was begun earlier says that the folder was complete, and so does this one.
        for old in outbox.draftFiles() where old.chat == chat && old.snapshot.name == path.bytes {
            try outbox.remove(old.id)
        }
        // Before anything is read: what changes from here on is noticed when it is handed over.
        let (parts, entries) = (versions(in: folder), entries(of: folder))
        let archive = try outbox.createPart(path, in: chat)
        do {
            tree.note(archives: [archive.id], of: folder.id)
            // Changed until then, nobody would take that back.
            guard isCurrent() else { throw CancellationError() }
            var position: UInt64 = 0
            try archiver.archive(entries) { bytes in
                guard isCurrent() else { throw CancellationError() }
                try archive.write(bytes, at: position, through: .ofItsMaker, by: 0)
                position += UInt64(bytes.count)
            }
            archive.flushed(.ofItsMaker, by: 0)
            archive.closed(.ofItsMaker)
            return (archive, parts)
        } catch {
            archive.closed(.ofItsMaker)
            discard(archive)
            // Whoever changed the folder has removed it, perhaps.
            throw isCurrent() ? error : CancellationError()
        }
    }

    /// It takes the place of the folder, under the folder's name with `.zip`, or the next that is free.
    /// - Returns: its entry.
    /// - Throws: what keeps it from that; nothing has changed then.
    func handOver(
        _ archive: any DraftFile, of folder: Node, replacing parts: [PartVersion], evenIncomplete: Bool
    ) throws -> Node {
        drafts.add(archive)
        do {
            let node = try show(archive, of: folder)
            do {
                try outbox.complete(
                    archive.id, named: node.name.bytes, of: parts, evenIncomplete: evenIncomplete)
                return node
            } catch {
                _ = try names.remove(draft: archive.entryID)
                throw error
            }
        } catch {
            drafts.remove(archive)
            throw error
        }
    }

    /// Nobody wants it any more.
    func discard(_ archive: any DraftFile) {
        do {
            try forget(archive.id)
        } catch {
            // The next mount takes it away.
            log.notice("an archive that nobody wants stays: \(sentenceWithCauses(of: error))")
        }
    }

    /// The same, for whom it matters.
    /// - Throws: `OutboxError`: it stays.
    func forget(_ archive: Int64) throws {
        do throws(OutboxError) {
            try outbox.remove(archive)
        } catch {
            // Somebody else was faster.
            guard outbox.draftFiles().contains(where: { $0.id == archive }) else { return }
            throw error
        }
    }

    private func show(_ archive: any DraftFile, of folder: Node) throws -> Node {
        let name = Self.name(ofArchive: folder.name)
        for number in 1...1000 {
            let name = number == 1 ? name : name.numbered(number)
            if names.child(name, of: folder.folder) != nil { continue }
            do throws(NamespaceError) {
                return try names.show(draft: archive.entryID, named: name, in: folder.folder)
            } catch {
                guard error.code == .nameTaken else { throw error }
            }
        }
        throw FileSystemError(EEXIST, "There are too many archives of this name in the chat.")
    }

    /// Cut where it would be too long, between characters.
    static func name(ofArchive folder: EntryName) -> EntryName {
        var stem = folder.bytes.prefix(EntryName.maxLength - 4)
        while stem.count < folder.bytes.count, let last = stem.last, last & 0xC0 == 0x80 { stem.removeLast() }
        if stem.count < folder.bytes.count, let last = stem.last, last >= 0xC0 { stem.removeLast() }
        return EntryName(Array(stem) + Array(".zip".utf8))
    }

    private func versions(in folder: Node) -> [PartVersion] {
        tree.contents(of: folder.id).compactMap { _, node in
            guard case .draft(let id) = node.content else { return nil }
            return drafts.draft(id)?.partVersion
        }
    }

    private func entries(of folder: Node) -> [FolderEntry] {
        tree.contents(of: folder.id).compactMap { path, node in
            let bytes = Array(path.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
            guard case .draft(let id) = node.content else {
                let modified = tree.modified(node.id) ?? Timestamp(seconds: 0)
                return FolderEntry(path: bytes, modified: modified, content: nil)
            }
            guard let draft = drafts.draft(id) else { return nil }
            let snapshot = draft.snapshot
            let content = FolderEntry.Content(size: snapshot.size) { try draft.read(into: $0, at: $1) }
            return FolderEntry(path: bytes, modified: snapshot.modified, content: content)
        }
    }
}
