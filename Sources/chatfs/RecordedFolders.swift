import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Namespace
import Posix

/// The folders of a profile's chats as its index of names has them, for a process that does not mount it.
struct RecordedFolders: FolderNaming {
    private let index: FolderIndex

    /// - Parameters:
    ///   - folder: the profile's own.
    ///   - key: with which its databases are encrypted; nil: they are not.
    init(in folder: String, key: SecretBytes?) {
        index = FolderIndex(path: folder + "/names.sqlite", key: key)
    }

    func folders(of chats: [Chat]) async throws(ChatError) -> [ChatReference: String] {
        let result = await ThreadPool.shared.run { () -> Result<[ChatReference: String], ChatError> in
            Result { () throws(ChatError) in try names(of: chats) }
        }
        return try result.get()
    }

    /// As `folders(of:)`. Blocks.
    func names(of chats: [Chat]) throws(ChatError) -> [ChatReference: String] {
        do throws(NamespaceError) {
            return try index.folders(of: chats)
        } catch {
            throw ChatError(
                error.code == .diskFull ? .file(.noSpace) : .storage, error.sentence, cause: error)
        }
    }

    /// The folders that chats have; gives none. Blocks.
    func known(of chats: [Chat]) throws(NamespaceError) -> [ChatReference: String] {
        try index.knownFolders(of: chats)
    }
}

extension DataDirectory {
    /// The chats of a profile with the words that select them, also while another process has it. Blocks.
    /// - Throws: as `chats(of:)`; `.file(.noSpace)`.
    func namedChats(of profile: Profile) throws(ChatError) -> NamedChats {
        let chats = try chats(of: profile)
        let folders = RecordedFolders(in: try folders(of: profile).own, key: key)
        return NamedChats(chats, folders: try folders.names(of: chats))
    }

    /// Gives the chats of all profiles their folders, for who changes what profiles call themselves, or has just named
    /// them. Blocks.
    /// - Throws: as `namedChats`.
    func recordFolders() throws(ChatError) {
        for profile in try profiles() { _ = try namedChats(of: profile) }
    }
}

extension MountedCore {
    /// The folders of its chats, where this process does not mount it.
    var folders: RecordedFolders { RecordedFolders(in: folder, key: key) }
}
