import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// Makes archives of pasted folders. An archive is a hidden draft until it replaces its folder. Stateless. All calls
/// block.
struct FolderArchives: Sendable {
    let names: Namespace
    let outbox: any DraftStore
    let tree: PastedTree
    let drafts: DraftTable
    /// nil if archives cannot be made.
    let archiver: (any FolderArchiving)?
    private let log = Log("filesystem")

    /// Archives a folder's current content. Returns the closed archive and the versions of its parts.
    /// - Throws: `CancellationError` if `isCurrent` returns false, or the error that prevented the archive. Leaves no
    ///   archive behind.
    func make(
        of folder: Node, in chat: ChatReference, while isCurrent: @escaping @Sendable () -> Bool
    ) throws -> (archive: any DraftFile, parts: [PartVersion]) {
        guard let archiver else {
            throw FileSystemError(
                ENOSYS, "Folders cannot be archived: libarchive (package libarchive13) is not installed.")
        }
        let path = PartPath(archiveOf: folder.name.bytes)
        // An older archive marks the folder as complete, and so does the new one.
        for old in outbox.draftFiles() where old.chat == chat && old.snapshot.name == path.bytes {
            try outbox.remove(old.id)
        }
        // Read before the content, so that `handOver` detects later changes.
        let (parts, entries) = (versions(in: folder), entries(of: folder))
        let archive = try outbox.createPart(path, in: chat)
        do {
            tree.note(archives: [archive.id], of: folder.id)
            // The note would not be withdrawn for a change made before it.
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
            // The change of the folder may have removed the archive.
            throw isCurrent() ? error : CancellationError()
        }
    }

    /// Replaces the folder by its archive, named after the folder with `.zip`, or with the next free name.
    /// - Returns: The archive's entry.
    /// - Throws: The error that prevented it; nothing has changed then.
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

    /// Removes an unneeded archive.
    func discard(_ archive: any DraftFile) {
        do {
            try forget(archive.id)
        } catch {
            // The next mount removes it.
            log.notice("unneeded archive not removed: error=\(sentenceWithCauses(of: error))")
        }
    }

    /// Removes an archive.
    /// - Throws: `OutboxError` if the archive stays.
    func forget(_ archive: Int64) throws {
        do throws(OutboxError) {
            try outbox.remove(archive)
        } catch {
            // Removed concurrently.
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

    /// Shortens a long name at a character boundary.
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
