import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store

/// A snapshot of a data directory's database under its own key, taken while others write. All calls block.
public struct DirectoryCopy: Sendable {
    private let path: String
    private let key: SecretBytes

    /// Copies the database.
    /// - Parameters:
    ///   - moment: must include the directory's database.
    ///   - path: path of the copy, which must not exist.
    ///   - selection: chats of one profile to copy without any others; nil copies all. The notes chat is
    ///     always included, but empty unless selected.
    /// - Throws: `.storage`, `.file(.noSpace)`. The caller removes a partial copy.
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
            // Copy again to drop the pages of deleted rows.
            try DatabaseCopy.make(from: whole, key: key, to: path, key: key)
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// Opens an existing copy.
    public init(at path: String, key: SecretBytes) {
        self.path = path
        self.key = key
    }

    /// Returns its profiles.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func profiles() throws(ChatError) -> [Profile] {
        try withStore { try $0.read { try $0.profiles.all() } }
    }

    /// Lists the databases stored beside it, as paths below the data directory.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func setParts(_ places: [String]) throws(ChatError) {
        try withStore { try $0.change { try $0.parts.replace(with: places) } }
    }

    /// Returns its CryptoFiles as paths below the data directory, with their keys; nil for a row without a
    /// key.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func files() throws(ChatError) -> [(path: String, arguments: FileArguments?)] {
        try withStore { try $0.read { try $0.selection.storedFiles() } }.map {
            ("profiles/\($0.profile)/files/\($0.name)", $0.arguments)
        }
    }

    private func withStore<Result>(_ body: (DirectoryStore) throws -> Result) throws(ChatError) -> Result {
        do {
            let store = try DirectoryStore(path: path, key: key)
            defer { store.close() }
            return try body(store)
        } catch {
            throw ChatError(wrapping: error)
        }
    }
}

extension DataDirectory {
    /// Absolute path of the first database.
    public var databasePath: String { path + "/chatfs.db" }

    /// Turns a folder that holds a data directory's contents into one.
    /// - Throws: if the marker cannot be written.
    public static func claim(_ folder: PrivateFolder) throws(SystemError) {
        try folder.write(Array((purpose + "\n").utf8), to: PrivateFolder.marker)
    }

    /// Opens or creates a folder of another purpose. One that `claim` turned into a data directory gets that
    /// purpose again if it was never used.
    /// - Throws: as `PrivateFolder.init`.
    public static func unclaimed(_ path: String, purpose: String) throws(SystemError) -> PrivateFolder {
        do throws(SystemError) {
            return try PrivateFolder(path, purpose: purpose)
        } catch {
            guard error.code == EEXIST, access("\(path)/\(useFile)", F_OK) != 0,
                let claimed = try? PrivateFolder(path, purpose: Self.purpose)
            else { throw error }
            try claimed.write(Array((purpose + "\n").utf8), to: PrivateFolder.marker)
            return claimed
        }
    }
}
