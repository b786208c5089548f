import Cryptography
import Glibc
import Posix
import SealedPages

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

    /// Whether a file is a sealed database, by its beginning. False where there is none. Blocks.
    /// - Throws: what the disk refuses.
    public static func isSealed(path: String) throws(SystemError) -> Bool {
        guard let file = try OpenFile.existing(path, flags: O_RDONLY) else { return false }
        return SealedBeginning.isSealed(try file.read(count: SealedBeginning.length, at: 0))
    }
}
