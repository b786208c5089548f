import ChatCore
import Cryptography
import Glibc
import Store

/// The names that mounts gave, from the index alone: for who speaks of files while nothing is mounted, or another process
/// has the mount. Any thread. All calls block.
public final class RecordedNames: Sendable {
    private let database: Database?

    /// - Parameters:
    ///   - path: of the index; where there is none nothing is made, and nothing has a name.
    ///   - key: with which it is encrypted; nil: not.
    /// - Throws: as `Namespace.init`.
    public init(path: String, key: SecretBytes? = nil) throws(NamespaceError) {
        guard access(path, F_OK) == 0 else {
            database = nil
            return
        }
        do {
            database = try Database(
                path: path, migrations: NameIndex.migrations, key: key, durability: .eventual)
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }

    deinit { database?.close() }

    /// Folder and name of an item below the mountpoint; nil when no mount ever showed it.
    /// - Throws: `.damaged`, `.storage`.
    public func path(of item: ItemID) throws(NamespaceError) -> String? {
        try look { index in
            guard let record = try index.record(of: .item(item)), let folder = try index.record(record.folder)
            else { return nil }
            return "\(folder.name)/\(record.name)"
        }
    }

    /// Inode number of an item; nil when no mount ever showed it.
    /// - Throws: `.damaged`, `.storage`.
    public func node(of item: ItemID) throws(NamespaceError) -> NodeID? {
        try look { try $0.record(of: .item(item))?.id }
    }

    /// The folder of a chat; nil when no mount ever showed it.
    /// - Throws: `.damaged`, `.storage`.
    public func folder(of chat: ChatReference) throws(NamespaceError) -> String? {
        try look { try $0.record(of: .chat(chat))?.name.description }
    }

    private func look<Result>(_ body: (NameIndex) throws -> Result?) throws(NamespaceError) -> Result? {
        guard let database else { return nil }
        do {
            return try database.read { try body(NameIndex($0)) }
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }
}
