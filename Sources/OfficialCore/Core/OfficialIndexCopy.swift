import Cryptography
import Store

/// Converts a copied index of an official core's profile.
public enum OfficialIndexCopy {
    /// Folder of the copies in an archive, below the profile's folder. The next `open` moves them into its
    /// core's files folder.
    public static let stagingFolder = "staging"

    /// Changes a copied index so that its copies are in the profile's folder.
    /// - Parameters:
    ///   - path: The copied index, which no other process has open.
    ///   - key: Encryption key; nil if not encrypted.
    /// - Throws: `StoreError`.
    public static func detach(indexAt path: String, key: SecretBytes?) throws {
        let database = try Database(path: path, migrations: Schema.migrations, key: key)
        defer { database.close() }
        try database.transaction { connection in
            try IndexTables(connection).keptCopies.detach()
            try IndexTables(connection).place.forget()
        }
    }
}
