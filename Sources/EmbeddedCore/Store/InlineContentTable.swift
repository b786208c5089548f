import Base
import ChatCore
import Store

/// Content of small files in rows, until it is stored as CryptoFiles.
struct InlineContentTable {
    let connection: Connection
    let profile: Int64

    /// Files with content in their rows, oldest first.
    func files() throws -> [FileID] {
        try connection.query(
            "SELECT id FROM file WHERE profile = ? AND inline_content IS NOT NULL ORDER BY id", profile
        ) { FileID($0.integer("id")) }
    }

    func holds(_ file: FileID) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM file WHERE id = ? AND profile = ? AND inline_content IS NOT NULL",
            file.rawValue, profile)
    }

    struct Content {
        /// Base64url.
        var text: String
        /// Plaintext size announced by the message, in bytes.
        var size: UInt64
    }

    func content(of file: FileID) throws -> Content? {
        try connection.first(
            "SELECT inline_content, size FROM file WHERE id = ? AND inline_content IS NOT NULL", file.rawValue
        ) { Content(text: $0.text("inline_content"), size: $0.unsigned("size")) }
    }

    /// Replaces the content by a CryptoFile's name. Returns false if another thread did.
    func replace(_ file: FileID, by storedName: String, _ arguments: FileArguments) throws -> Bool {
        try connection.execute(
            """
            UPDATE file SET status = ?, problem = NULL, problem_sentence = NULL,
                stored_name = ?, key = ?, nonce = ?, content_offset = NULL, inline_content = NULL
            WHERE id = ? AND inline_content IS NOT NULL
            """, StoredFileStatus.rcvComplete, storedName, arguments.key, arguments.nonce, file.rawValue) > 0
    }

    /// Deletes content that does not match its message.
    func drop(_ file: FileID) throws {
        try connection.execute("UPDATE file SET inline_content = NULL WHERE id = ?", file.rawValue)
    }
}
