import Base
import ChatCore
import Store

/// Keys of kept damaged copies (`DamagedCopies`).
struct DamagedCopyTable {
    let connection: Connection

    /// Replaces an earlier key.
    func keep(_ arguments: FileArguments, of file: FileID, in profile: Int64) throws {
        try connection.execute(
            """
            INSERT OR REPLACE INTO damaged_copy (file, profile, key, nonce, content_offset, content_size)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            file.rawValue, profile, arguments.key, arguments.nonce, arguments.contentOffset,
            arguments.content.map { Int64(clamping: $0.count) })
    }

    /// Returns nil without a copy.
    func arguments(of file: FileID, in profile: Int64) throws -> FileArguments? {
        try connection.first(
            """
            SELECT key, nonce, content_offset, coalesce(content_size, 0) AS content_size FROM damaged_copy
            WHERE file = ? AND profile = ?
            """, file.rawValue, profile
        ) {
            FileArguments(
                key: $0.bytes("key"), nonce: $0.bytes("nonce"), offset: $0.integerOrNil("content_offset"),
                size: $0.unsigned("content_size"))
        }
    }

    func remove(_ file: FileID) throws {
        try connection.execute("DELETE FROM damaged_copy WHERE file = ?", file.rawValue)
    }

    func files(of profile: Int64) throws -> [FileID] {
        try connection.query("SELECT file FROM damaged_copy WHERE profile = ?", profile) {
            FileID($0.integer("file"))
        }
    }
}
