import ChatCore
import Cryptography
import Glibc
import Store

/// The folder names of a profile's chats for a process that does not mount the profile. May run beside a mount, whose
/// folders it never renames. Thread-safe. All calls block.
public struct FolderIndex: Sendable {
    private let path: String
    private let key: SecretBytes?

    /// - Parameters:
    ///   - path: Path of the index of names.
    ///   - key: Encryption key; nil if not encrypted.
    public init(path: String, key: SecretBytes?) {
        self.path = path
        self.key = key
    }

    /// Returns the folder name of each chat. A chat without one is given, permanently, the name that the next mount
    /// would choose.
    /// - Parameter chats: All chats of the profile.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func folders(of chats: [Chat]) throws(NamespaceError) -> [ChatReference: String] {
        if chats.isEmpty { return [:] }
        do {
            let database = try open()
            defer { database.close() }
            let known = try database.read { try Known(NameIndex($0), chats) }
            if known.isEnough { return known.names }
            return try database.durableTransaction { connection in
                let index = NameIndex(connection)
                for chat in chats { try index.keep(aliasOf: chat) }
                for chat in chats.namedByUserFirst { _ = try index.folder(of: chat) }
                return try Known(index, chats).names
            }
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }

    /// Returns the recorded folder names. Assigns none and creates no index.
    /// - Throws: `.damaged`, `.storage`.
    public func knownFolders(of chats: [Chat]) throws(NamespaceError) -> [ChatReference: String] {
        guard access(path, F_OK) == 0 else { return [:] }
        do {
            let database = try open()
            defer { database.close() }
            return try database.read { try Known(NameIndex($0), chats).names }
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }

    private func open() throws(StoreError) -> Database {
        try Database(path: path, migrations: NameIndex.migrations, key: key, durability: .eventual)
    }

    private struct Known {
        var names: [ChatReference: String] = [:]
        /// True if every chat has a folder and every alias is reserved.
        var isEnough: Bool

        init(_ index: NameIndex, _ chats: [Chat]) throws {
            for record in try index.chats() {
                guard case .chat(let chat) = record.owner else { continue }
                names[chat] = record.name.description
            }
            let names = names
            isEnough = try chats.allSatisfy { chat in
                try names[chat.reference] != nil && !index.isFree(aliasOf: chat)
            }
        }
    }
}
