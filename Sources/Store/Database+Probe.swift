import Cryptography
import Glibc

extension Database {
    /// Checks whether a database opens with this key, without changing it. Does nothing if there is no database.
    /// Blocks.
    /// - Throws: The errors of `init`.
    public static func probe(path: String, key: SecretBytes?) throws(StoreError) {
        guard access(path, F_OK) == 0 else { return }
        let connection = try Connection(path: path, key: key)
        defer { connection.close() }
        if key == nil, connection.isSealed { throw StoreError.encrypted }
        _ = try connection.exists("SELECT 1 FROM sqlite_schema")
    }

    /// Returns whether a file is a sealed database. Returns false if it does not exist or cannot be read. Reads through
    /// SQLite, because closing another descriptor would drop this process's locks. Blocks.
    public static func isSealed(path: String) -> Bool {
        guard access(path, F_OK) == 0, let connection = try? Connection(path: path, key: nil) else {
            return false
        }
        defer { connection.close() }
        return connection.isSealed
    }
}
