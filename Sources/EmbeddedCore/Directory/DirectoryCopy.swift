import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix
import Store

/// A copy of the database of a data directory, under a key of its own: one moment of it, whoever goes on writing. All
/// calls block.
public struct DirectoryCopy: Sendable {
    private let path: String
    private let key: SecretBytes

    /// Makes it.
    /// - Parameters:
    ///   - moment: has the database of the directory.
    ///   - path: nothing is there yet.
    ///   - selection: only these chats of one profile, and nothing of others; nil: everything. The notes of the profile
    ///     are there in any case, without what is in them where they were not named.
    /// - Throws: `.storage`, `.file(.noSpace)`; what there is of it then is the caller's to remove.
    public init(
        of directory: DataDirectory, at moment: DatabaseMoment, path: String, key: SecretBytes,
        only selection: (profile: Profile, chats: [ChatReference])? = nil
    ) throws(ChatError) {
        self.path = path
        self.key = key
        do {
            guard let selection else {
                try moment.copy(directory.databasePath, to: path, key: key)
                return
            }
            let whole = path + "-whole"
            defer { for suffix in ["", "-wal", "-shm"] { unlink(whole + suffix) } }
            try moment.copy(directory.databasePath, to: whole, key: key)
            let store = try DirectoryStore(path: whole, key: key)
            defer { store.close() }
            try store.change { tables in
                let ids = try selection.chats.map { try tables.chats.id(of: $0, of: selection.profile.id) }
                try tables.selection.keep(ids, of: selection.profile.id)
            }
            // Once more: the pages of what was left out are not to be carried along.
            try DatabaseCopy.make(from: whole, key: key, to: path, key: key)
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// One that was made before.
    public init(at path: String, key: SecretBytes) {
        self.path = path
        self.key = key
    }

    /// Those that it has.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func profiles() throws(ChatError) -> [Profile] {
        do {
            let store = try DirectoryStore(path: path, key: key)
            defer { store.close() }
            return try store.read { try $0.profiles.all() }
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// Says of it which databases lie beside it; paths below the data directory.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func setParts(_ places: [String]) throws(ChatError) {
        do {
            let store = try DirectoryStore(path: path, key: key)
            defer { store.close() }
            try store.change { try $0.parts.replace(with: places) }
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// The CryptoFiles that it names, as paths below the data directory, and their keys; nil where a row has none.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func files() throws(ChatError) -> [(path: String, arguments: FileArguments?)] {
        do {
            let store = try DirectoryStore(path: path, key: key)
            defer { store.close() }
            return try store.read { try $0.selection.storedFiles() }.map {
                ("profiles/\($0.profile)/files/\($0.name)", $0.arguments)
            }
        } catch {
            throw ChatError(wrapping: error)
        }
    }
}

extension DataDirectory {
    /// Of the database that all profiles share. Absolute.
    public var databasePath: String { path + "/chatfs.db" }

    /// Makes a data directory of a folder that was made for something else and holds what one holds.
    /// - Throws: where the marker cannot be written.
    public static func claim(_ folder: PrivateFolder) throws(SystemError) {
        try folder.write(Array((purpose + "\n").utf8), to: PrivateFolder.marker)
    }
}
