import Base
import CSQLite
import Cryptography
import Glibc

/// Looks through a database that its owner may have open at the same time. Changes nothing, makes nothing, and needs no
/// schema: for who checks a file that may be damaged. Blocks.
public enum DatabaseCheck {
    /// Reads every page, and compares tables with their indexes and references with what they name
    /// (`PRAGMA integrity_check`, `foreign_key_check`); pages of an encrypted database are authenticated by that. In
    /// clear, bytes that changed within a value are not noticed: SQLite has no checksums.
    ///
    /// - Parameters:
    ///   - path: of a database that exists.
    ///   - key: with which it is sealed; nil: it is in clear.
    /// - Returns: what is wrong with it, at most `limit` sentences of SQLite, which hold numbers of pages and names of
    ///   tables and nothing of what is stored; empty when all is right.
    /// - Throws: `.notAllowed` where there is no file; `.busy`, `.noMemory`, `.tooManyFiles`, `.wrongKey`,
    ///   `.encrypted`, `.notEncrypted`. Damage is not thrown.
    public static func problems(
        path: String, key: SecretBytes? = nil, limit: Int = 20
    ) throws(StoreError) -> [String] {
        guard access(path, F_OK) == 0 else { throw StoreError(.notAllowed, "There is no such database.") }
        do {
            let connection = try Connection(path: path, key: key)
            defer { connection.close() }
            sqlite3_busy_timeout(connection.handle, 10_000)
            if key == nil, connection.isSealed { throw StoreError.encrypted }
            let pages = try connection.query("PRAGMA integrity_check(\(limit))") {
                $0.text("integrity_check")
            }
            // Only a database that is whole can be asked what its rows refer to.
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
