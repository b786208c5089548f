import Base
import ChatCore
import Store

/// A profile's files: their states and local copies. Other tables handle uploads, downloads and inline
/// content of the same rows.
struct FileTable {
    let connection: Connection
    let profile: Int64

    func status(of file: FileID) throws -> StoredFileStatus? {
        try connection.first(
            "SELECT status FROM file WHERE id = ? AND profile = ?", file.rawValue, profile
        ) { try $0.value("status") }
    }

    /// Sets a file's status and problem if its status is one of `expected`. Returns whether it was.
    func setStatus(
        _ status: StoredFileStatus, of file: FileID, from expected: [StoredFileStatus],
        problem: FileProblem? = nil
    ) throws -> Bool {
        guard let found = try self.status(of: file), expected.contains(found) else { return false }
        try connection.execute(
            "UPDATE file SET status = ?, problem = ?, problem_sentence = ? WHERE id = ?",
            status, problem?.kind.rawValue, problem?.sentence, file.rawValue)
        return true
    }

    /// The columns needed to cancel a transfer.
    struct Cancellable {
        var status: StoredFileStatus
        var transport: ChatFile.Transport
        /// Whether it belongs to no chat.
        var isStandalone: Bool
    }

    func cancellable(_ file: FileID) throws -> Cancellable? {
        try connection.first(
            "SELECT status, transport, item IS NULL AS is_standalone FROM file WHERE id = ? AND profile = ?",
            file.rawValue, profile
        ) { row in
            Cancellable(
                status: try row.value("status"), transport: try row.value("transport"),
                isStandalone: row.bool("is_standalone"))
        }
    }

    /// Deletes a standalone file.
    func remove(_ file: FileID) throws {
        try connection.execute("DELETE FROM file WHERE id = ?", file.rawValue)
    }

    /// Whether a row names this CryptoFile.
    func hasStored(_ name: String) throws -> Bool {
        try connection.exists("SELECT 1 FROM file WHERE profile = ? AND stored_name = ?", profile, name)
    }

    /// Sets the location of a file's CryptoFile. The length of its content is the file's size.
    func setSource(of file: FileID, _ storedName: String, _ arguments: FileArguments?) throws {
        try connection.execute(
            "UPDATE file SET stored_name = ?, key = ?, nonce = ?, content_offset = ? WHERE id = ?",
            storedName, arguments?.key, arguments?.nonce, arguments?.contentOffset, file.rawValue)
    }

    // MARK: - At the start

    struct Unfinished: Sendable {
        var file: FileID
        var isUpload: Bool
        var isStandalone: Bool
    }

    /// Returns transfers that can be resumed.
    func unfinished() throws -> [Unfinished] {
        try connection.query(
            """
            SELECT id, status, item IS NULL AS is_standalone FROM file
            WHERE profile = ? AND transport = 'xftp' AND (
                status IN (\(StoredFileStatus.list(StoredFileStatus.uploading)))
                OR status IN (\(StoredFileStatus.list(StoredFileStatus.downloading)))
                    AND (description IS NOT NULL OR item IS NULL))
            ORDER BY id
            """, profile
        ) { row in
            Unfinished(
                file: FileID(row.integer("id")),
                isUpload: try row.value("status", as: StoredFileStatus.self).isSent,
                isStandalone: row.bool("is_standalone"))
        }
    }
}
