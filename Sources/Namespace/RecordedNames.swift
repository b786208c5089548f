import ChatCore
import Cryptography
import Glibc
import Store

/// Reads names from the index alone, while the profile is not mounted or mounted by another process. Thread-safe. All
/// calls block.
public final class RecordedNames: Sendable {
    private let database: Database?

    /// - Parameters:
    ///   - path: Path of the index. If it is missing, it is not created and no item has a name.
    ///   - key: Encryption key; nil if not encrypted.
    /// - Throws: As `Namespace.init`.
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

    /// Returns the path of an item below the mountpoint; nil if no mount ever showed it.
    /// - Throws: `.damaged`, `.storage`.
    public func path(of item: ItemID) throws(NamespaceError) -> String? {
        try look { index in
            guard let record = try index.record(of: .item(item)), let folder = try index.record(record.folder)
            else { return nil }
            return "\(folder.name)/\(record.name)"
        }
    }

    /// Returns the inode number of an item; nil if no mount ever showed it.
    /// - Throws: `.damaged`, `.storage`.
    public func node(of item: ItemID) throws(NamespaceError) -> NodeID? {
        try look { try $0.record(of: .item(item))?.id }
    }

    /// Returns the folder name of a chat; nil if no mount ever showed it.
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
