import Base
import ChatCore
import Store

/// The content of small files that arrived in their messages, until each is a CryptoFile.
struct InlineContentTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    /// The files whose content is still in its row, oldest first.
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
        /// Bytes of plaintext that the message promises.
        var size: UInt64
    }

    func content(of file: FileID) throws -> Content? {
        try connection.first(
            "SELECT inline_content, size FROM file WHERE id = ? AND inline_content IS NOT NULL", file.rawValue
        ) { Content(text: $0.text("inline_content"), size: $0.unsigned("size")) }
    }

    /// Puts the name of a CryptoFile in the place of the content. False when another thread has done so.
    func replace(_ file: FileID, by storedName: String, _ arguments: FileArguments) throws -> Bool {
        try connection.execute(
            """
            UPDATE file SET status = ?, problem = NULL, problem_sentence = NULL,
                stored_name = ?, key = ?, nonce = ?, inline_content = NULL
            WHERE id = ? AND inline_content IS NOT NULL
            """, StoredFileStatus.rcvComplete, storedName, arguments.key, arguments.nonce, file.rawValue) > 0
    }

    /// Drops content that is not what the message promised.
    func drop(_ file: FileID) throws {
        try connection.execute("UPDATE file SET inline_content = NULL WHERE id = ?", file.rawValue)
    }
}
