import Glibc
import Namespace

/// Creates, renames and removes names. Routes each request to the chat or the pasted folder that owns the name, loads
/// the folder first, and notifies the user of refusals. Stateless; thread-safe.
struct NameChanges: Sendable {
    let loader: FolderLoader
    let opener: FileOpener
    let drafts: DraftChanges
    let pasted: PastedChanges
    let remover: EntryRemover
    let attributes: AttributeReader
    let outbox: any DraftStore
    let user: UserConnection

    func create(
        _ name: EntryName, in folder: NodeID, flags: Int32, by thread: pid_t
    ) -> Answer<(Attributes, FileHandle)> {
        if isReadOnly(folder) { return .refused(.notPermitted) }
        let answer = loader.whenLoaded(folder) { [opener] in
            opener.create(name, in: folder, flags: flags, by: thread)
        }
        return answer.whenRefused { [user] in user.refused(.create, $0, name, in: folder) }
    }

    func rename(
        _ name: EntryName, in folder: NodeID, to newName: EntryName, in newFolder: NodeID, flags: UInt32,
        by thread: pid_t
    ) -> Answer<Void> {
        if isReadOnly(folder) { return .refused(.notPermitted) }
        let answer = loader.whenLoaded(folder) { [self] in
            if pasted.concerns(name, in: folder) || pasted.concerns(newName, in: newFolder) {
                return pasted.rename(name, in: folder, to: newName, in: newFolder, flags: flags)
            }
            let answer = drafts.rename(
                name, in: folder, to: newName, in: newFolder, flags: flags, by: thread)
            // A refused move to another chat leaves the file finished and in place.
            guard folder == newFolder else { return answer }
            return answer.afterRefusal { [self] error in
                noteRefusedRename(error, of: name, in: folder, by: thread)
            }
        }
        return answer.whenRefused { [user] in user.refused(.rename, $0, name, in: folder) }
    }

    /// Tells the outbox of a refused rename: the content then stays under the name that it was written to. After other
    /// errors programs retry, or use another name.
    private func noteRefusedRename(
        _ error: FileSystemError, of name: EntryName, in folder: NodeID, by thread: pid_t
    ) {
        guard [EPERM, EACCES, EILSEQ, ENAMETOOLONG].contains(error.code) else { return }
        outbox.note(.rename(draft: drafts.draft(name, in: folder)?.id), by: thread)
    }

    func unlink(_ name: EntryName, in folder: NodeID, by thread: pid_t) -> Answer<Void> {
        if isReadOnly(folder) { return .refused(.notPermitted) }
        if pasted.concerns(name, in: folder) { return pasted.unlink(name, in: folder) }
        let answer = loader.whenLoaded(folder) { [remover] in
            remover.remove(name, in: folder, by: thread)
        }
        return answer.whenRefused { [user] in user.refused(.remove, $0, name, in: folder) }
    }

    func makeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Attributes> {
        let answer = loader.whenLoaded(folder) { [pasted, attributes] () -> Answer<Attributes> in
            pasted.makeFolder(name, in: folder).map { node in
                attributes.attributesToKeep(of: node).map { .success($0) } ?? .failure(.gone)
            }
        }
        return answer.whenRefused { [user] error in
            // File managers try to create these and then offer deletion.
            if !name.description.hasPrefix(".Trash") {
                user.refused(.makeFolder, error, name, in: folder)
            }
        }
    }

    func removeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Void> {
        guard pasted.concerns(name, in: folder) else { return .refused(.notPermitted) }
        return pasted.removeFolder(name, in: folder)
    }

    /// True for generated folders.
    private func isReadOnly(_ folder: NodeID) -> Bool { folder == .messages || ThumbnailNodes.holds(folder) }
}
