import Glibc
import Namespace

/// Names that programs make, change and remove: finds out whose they are (of a chat, of a folder that is being copied
/// into one, of nobody who may), has the folder loaded first, and tells the user of what was refused. Has no state of
/// its own. Any thread.
final class NameChanges: Sendable {
    private let loader: FolderLoader
    private let opener: FileOpener
    private let drafts: DraftChanges
    private let pasted: PastedChanges
    private let remover: EntryRemover
    private let attributes: AttributeReader
    private let outbox: any DraftStore
    private let user: UserConnection

    init(
        loader: FolderLoader, opener: FileOpener, drafts: DraftChanges, pasted: PastedChanges,
        remover: EntryRemover, attributes: AttributeReader, outbox: any DraftStore, user: UserConnection
    ) {
        self.outbox = outbox
        self.loader = loader
        self.opener = opener
        self.drafts = drafts
        self.pasted = pasted
        self.remover = remover
        self.attributes = attributes
        self.user = user
    }

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
            // A move to another chat says nothing about the file: it is finished, and stays where it is.
            guard folder == newFolder else { return answer }
            return answer.afterRefusal { [self] error in
                noteRefusedRename(error, of: name, in: folder, by: thread)
            }
        }
        return answer.whenRefused { [user] in user.refused(.rename, $0, name, in: folder) }
    }

    /// What its program wrote under another name stays here then. Others try again by another way by themselves, or
    /// under another name.
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
            // File managers try these by themselves, and then offer to delete.
            if !name.description.hasPrefix(".Trash") {
                user.refused(.makeFolder, error, name, in: folder)
            }
        }
    }

    func removeFolder(_ name: EntryName, in folder: NodeID) -> Answer<Void> {
        guard pasted.concerns(name, in: folder) else { return .refused(.notPermitted) }
        return pasted.removeFolder(name, in: folder)
    }

    /// What is in these is made of what is elsewhere.
    private func isReadOnly(_ folder: NodeID) -> Bool { folder == .messages || ThumbnailNodes.holds(folder) }
}
