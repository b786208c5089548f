import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Namespace
import Posix

/// The folder names of a profile's chats from its index, for a process that does not mount it.
struct RecordedFolders: FolderNaming {
    private let index: FolderIndex

    /// - Parameters:
    ///   - folder: Directory of the profile.
    ///   - key: Encryption key of its databases; nil if not encrypted.
    init(in folder: String, key: SecretBytes?) {
        index = FolderIndex(path: folder + "/names.sqlite", key: key)
    }

    func folders(of chats: [Chat]) async throws(ChatError) -> [ChatReference: String] {
        let result = await ThreadPool.shared.run { () -> Result<[ChatReference: String], ChatError> in
            Result { () throws(ChatError) in try names(of: chats) }
        }
        return try result.get()
    }

    /// Like `folders(of:)`. Blocks.
    func names(of chats: [Chat]) throws(ChatError) -> [ChatReference: String] {
        do throws(NamespaceError) {
            return try index.folders(of: chats)
        } catch {
            throw ChatError(
                error.code == .diskFull ? .file(.noSpace) : .storage, error.sentence, cause: error)
        }
    }

    /// Returns the recorded folder names and assigns none. Blocks.
    func known(of chats: [Chat]) throws(NamespaceError) -> [ChatReference: String] {
        try index.knownFolders(of: chats)
    }
}

extension DataDirectory {
    /// Returns the chats of a profile with the words that select them, also while another process has the profile.
    /// Blocks.
    /// - Throws: The errors of `chats(of:)`; `.file(.noSpace)`.
    func namedChats(of profile: Profile) throws(ChatError) -> NamedChats {
        let chats = try chats(of: profile)
        let folders = RecordedFolders(in: try folders(of: profile).own, key: key)
        return NamedChats(chats, folders: try folders.names(of: chats))
    }

    /// Records the folders of all profiles' chats, before or after profiles are renamed. Blocks.
    /// - Throws: The errors of `namedChats`.
    func recordFolders() throws(ChatError) {
        for profile in try profiles() { _ = try namedChats(of: profile) }
    }
}

extension MountedCore {
    /// The folder names of its chats, while this process does not mount them.
    var folders: RecordedFolders { RecordedFolders(in: folder, key: key) }
}
