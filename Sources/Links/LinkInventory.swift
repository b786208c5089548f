import ChatCore
import Cryptography
import Glibc
import Posix
import Store

/// What rows and disk have of the folder of links of a profile, for who compares both: also while another process has
/// it. All calls block.
public struct LinkInventory: Sendable {
    /// Every entry that has a file here, or should have one.
    public let items: [ChatItem]
    /// Files in the folder that no row names, by their names there.
    public let strays: [String]
    /// The folder of the CryptoFiles. Absolute.
    public let folder: String

    /// - Parameters:
    ///   - path: of the database; where there is none nothing is made.
    ///   - key: with which it is encrypted; nil: not.
    ///   - stagingFolder: of the core beneath.
    /// - Throws: `StoreError`, `SystemError`.
    public init(path: String, key: SecretBytes? = nil, stagingFolder: String, profile: Profile) throws {
        let folder = LinkFolder.path(in: stagingFolder, of: profile)
        self.folder = folder
        guard access(path, F_OK) == 0 else {
            (items, strays) = ([], [])
            return
        }
        // The folder first: what is kept meanwhile has its name before its row.
        let names = try PrivateFolder.names(at: folder)
        let database = try Database(path: path, migrations: LinkTable.migrations, key: key)
        defer { database.close() }
        let rows = try database.read { try LinkTable($0).rows(before: nil, count: .max) }
        items = rows.map { $0.item(of: profile.displayName, folder: folder, progress: nil) }
            .filter { $0.file?.source != nil }
        let named = try database.read { try LinkTable($0).storedNames() }
        strays = names.filter { !named.contains($0) && !LinkFolder.isPlainCopy($0) }
    }
}
