import Cryptography
import Store

/// The index of an official core's profile for another place.
public enum OfficialIndexCopy {
    /// Where the copies lie in an archive, below the folder of the profile: who opens it there next takes them from there
    /// into its core's files folder.
    public static let stagingFolder = "staging"

    /// Changes a copied index so that its copies lie in the folder of the profile.
    /// - Parameters:
    ///   - path: of the copied index, which nobody else has open.
    ///   - key: with which it is encrypted; nil: not.
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
