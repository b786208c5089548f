import Base
import CSQLite
import Cryptography
import Glibc

/// Checks a database that its owner may have open. Changes nothing and needs no schema. Blocks.
public enum DatabaseCheck {
    /// Reads every page and compares tables with indexes and foreign keys (`PRAGMA integrity_check`,
    /// `foreign_key_check`). Authenticates the pages of an encrypted database. In a plain one, changed bytes within a
    /// value stay undetected, because SQLite has no checksums.
    ///
    /// - Parameters:
    ///   - path: The path of an existing database.
    ///   - key: The key that seals it, or nil for a plain database.
    /// - Returns: At most `limit` problems in SQLite's words, with page numbers and table names but no content. Empty
    ///   if there are none.
    /// - Throws: `.notAllowed` if the file does not exist; `.busy`, `.noMemory`, `.tooManyFiles`, `.wrongKey`,
    ///   `.encrypted`, `.notEncrypted`. Damage is returned instead.
    public static func problems(
        path: String, key: SecretBytes? = nil, limit: Int = 20
    ) throws(StoreError) -> [String] {
        guard access(path, F_OK) == 0 else { throw StoreError(.notAllowed, "The database does not exist.") }
        do {
            let connection = try Connection(path: path, key: key)
            defer { connection.close() }
            sqlite3_busy_timeout(connection.handle, 10_000)
            if key == nil, connection.isSealed { throw StoreError.encrypted }
            let pages = try connection.query("PRAGMA integrity_check(\(limit))") {
                $0.text("integrity_check")
            }
            // Check references only in an intact database.
            guard pages == ["ok"] else { return Array(pages.prefix(limit)) }
            let references = try connection.query("PRAGMA foreign_key_check") { row in
                "a row of '\(row.text("table"))' refers to one of '\(row.text("parent"))' that is not there"
            }
            return Array(references.prefix(limit))
        } catch let error as StoreError where Self.isDamage(error.code) {
            return [error.sentence]
        } catch {
            throw error as? StoreError
                ?? StoreError(.damaged, "The database could not be read.", cause: error)
        }
    }

    private static func isDamage(_ code: StoreError.Code) -> Bool {
        switch code {
        case .damaged, .damagedPage, .notADatabase, .constraint, .invalidStatement, .inputOutput: true
        case .diskFull, .busy, .noMemory, .tooManyFiles, .wrongKey, .encrypted, .notEncrypted, .wrongVersion,
            .notAllowed:
            false
        }
    }
}
