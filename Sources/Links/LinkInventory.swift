import ChatCore
import Cryptography
import Glibc
import Posix
import Store

/// Lists rows and files of a profile's folder of links for comparison, also while another process uses it. All calls
/// block.
public struct LinkInventory: Sendable {
    /// The entries that have or should have a local file.
    public let items: [ChatItem]
    /// The files that no row names.
    public let strays: [String]
    /// The folder of the CryptoFiles. Absolute.
    public let folder: String

    /// Returns the folder of a profile's CryptoFiles.
    public static func folder(in stagingFolder: String, of profile: Profile) -> String {
        LinkFolder.path(in: stagingFolder, of: profile)
    }

    /// - Parameters:
    ///   - path: The path of the database. Nothing is created if it is missing.
    ///   - key: Its key, or nil for a plain database.
    ///   - stagingFolder: The staging folder of the core.
    /// - Throws: `StoreError`, `SystemError`.
    public init(path: String, key: SecretBytes? = nil, stagingFolder: String, profile: Profile) throws {
        let folder = Self.folder(in: stagingFolder, of: profile)
        self.folder = folder
        guard access(path, F_OK) == 0 else {
            (items, strays) = ([], [])
            return
        }
        // Read the folder first: a file gets its name before its row.
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
