import Cryptography
import Glibc

extension Database {
    /// Whether a database opens with this key, which is found out without changing it. Nothing happens where there is
    /// none. Blocks.
    /// - Throws: as `init`.
    public static func probe(path: String, key: SecretBytes?) throws(StoreError) {
        guard access(path, F_OK) == 0 else { return }
        let connection = try Connection(path: path, key: key)
        defer { connection.close() }
        if key == nil, connection.isSealed { throw StoreError.encrypted }
        _ = try connection.exists("SELECT 1 FROM sqlite_schema")
    }

    /// Whether a file is a sealed database, by its beginning. False where there is none, and where it cannot be read.
    /// SQLite opens it: to close a descriptor of one's own would drop the locks that this process has on it. Blocks.
    public static func isSealed(path: String) -> Bool {
        guard access(path, F_OK) == 0, let connection = try? Connection(path: path, key: nil) else {
            return false
        }
        defer { connection.close() }
        return connection.isSealed
    }
}
