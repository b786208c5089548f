import Base
import ChatCore
import Store

/// What the rows of files say about sending them: the uploads of a profile, and files that belong to no chat.
struct UploadTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    // MARK: - Uploads

    /// An upload as its row has it.
    struct Upload {
        enum Source {
            /// By its name in the files folder.
            case stored(name: String, FileArguments)
            /// Of a file that belongs to no chat; a CryptoFile, or plain.
            case elsewhere(path: String, FileArguments?)
        }

        var source: Source
        var fileName: String
        var recipients: Int
        /// From where it goes on.
        var state: [UInt8]?
        var created: Timestamp
    }

    func upload(of file: FileID) throws -> Upload? {
        try connection.first(
            """
            SELECT name, recipients, upload_state, created, stored_name, key, nonce, plain_path
            FROM file WHERE id = ?
            """, file.rawValue
        ) { row in
            func arguments(_ row: borrowing Row) -> FileArguments {
                FileArguments(key: row.bytes("key"), nonce: row.bytes("nonce"))
            }
            let source: Upload.Source =
                if let path = row.textOrNil("plain_path") {
                    .elsewhere(path: path, row.isNull("key") ? nil : arguments(row))
                } else {
                    .stored(name: row.text("stored_name"), arguments(row))
                }
            return Upload(
                source: source, fileName: row.text("name"), recipients: Int(row.integer("recipients")),
                state: row.bytesOrNil("upload_state"), created: row.timestamp("created"))
        }
    }

    /// Keeps from where a running upload goes on. False when it does not run any more.
    func keepState(_ state: [UInt8], of file: FileID) throws -> Bool {
        try connection.execute(
            "UPDATE file SET upload_state = ? WHERE id = ? AND status = ?",
            state, file.rawValue, StoredFileStatus.sndTransfer) > 0
    }

    /// The end of an upload: what deletes it, and its link if it has one.
    func complete(_ file: FileID, senderDescription: String, link: UploadedLink?) throws {
        try connection.execute(
            """
            UPDATE file SET sender_description = ?, upload_state = NULL, link = ?, link_description = ?
            WHERE id = ?
            """, senderDescription, link?.text, link?.senderDescription, file.rawValue)
    }

    /// It is uploaded, and somebody on the network is told of it by a message that no server has yet.
    func awaitAnnouncement(of item: ItemID) throws {
        try connection.execute("UPDATE file SET is_announced = 0 WHERE item = ?", item.rawValue)
    }

    /// A server has that message, or none will. False where that was known.
    func noteAnnounced(_ file: FileID) throws -> Bool {
        try connection.execute(
            "UPDATE file SET is_announced = 1 WHERE id = ? AND is_announced = 0", file.rawValue) > 0
    }

    func isAnnounced(_ file: FileID) throws -> Bool {
        try connection.exists("SELECT 1 FROM file WHERE id = ? AND is_announced = 1", file.rawValue)
    }

    /// Gives a recipient's file its description.
    func describe(_ copy: FileID, _ description: String) throws {
        try connection.execute("UPDATE file SET description = ? WHERE id = ?", description, copy.rawValue)
    }

    /// Takes a recipient's file back. False when the recipient has it, be it in its row only, or has given it up.
    func withdraw(_ copy: FileID) throws -> Bool {
        try connection.execute(
            """
            UPDATE file SET status = ?, description = NULL WHERE id = ?
            AND inline_content IS NULL
            AND status NOT IN (\(StoredFileStatus.list([.rcvComplete, .rcvError])))
            """, StoredFileStatus.rcvCancelled, copy.rawValue) > 0
    }

    /// What an upload has on relays.
    func remains(of file: FileID) throws -> UploadRemains? {
        try connection.first(
            "SELECT sender_description, upload_state, link_description FROM file WHERE id = ?", file.rawValue,
            row: UploadRemains.init)
    }

    func forgetRemains(of file: FileID) throws {
        try connection.execute(
            """
            UPDATE file SET sender_description = NULL, upload_state = NULL, link_description = NULL
            WHERE id = ?
            """, file.rawValue)
    }

    // MARK: - Files that belong to no chat

    /// - Parameters:
    ///   - name: nil for that of the path.
    ///   - arguments: of a CryptoFile.
    ///   - link: from which it is downloaded; nil for an upload.
    func insertStandalone(
        path: String, name: String? = nil, size: UInt64, arguments: FileArguments? = nil, link: String?,
        created: Timestamp, expires: Timestamp
    ) throws -> FileID {
        let name = name ?? path.lastPathName ?? "file"
        let status: StoredFileStatus = link == nil ? .sndStored : .rcvAccepted
        try connection.execute(
            """
            INSERT INTO file (profile, name, size, transport, status, created, expires, recipients,
                plain_path, key, nonce, link) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)
            """,
            profile, name, size, ChatFile.Transport.xftp.rawValue, status, created, expires, path,
            arguments?.key, arguments?.nonce, link)
        return FileID(connection.lastInsertedID)
    }

    /// The upload of a CryptoFile that belongs to no chat.
    func standaloneUpload(of path: String) throws -> FileID? {
        try connection.first(
            "SELECT id FROM file WHERE profile = ? AND item IS NULL AND plain_path = ? AND key IS NOT NULL",
            profile, path
        ) { FileID($0.integer("id")) }
    }

    /// What an upload came to that belongs to no chat; nil while it goes on.
    func standaloneOutcome(_ file: FileID) throws -> StandaloneOutcome? {
        let found = try connection.first(
            "SELECT link, status, problem, problem_sentence FROM file WHERE id = ? AND profile = ? "
                + "AND item IS NULL", file.rawValue, profile
        ) { row -> StandaloneOutcome? in
            switch try row.value("status", as: StoredFileStatus.self) {
            case .sndComplete: row.textOrNil("link").map(StandaloneOutcome.link)
            case .sndError:
                .failed(try row.problem())
            default: nil
            }
        }
        guard let found else { throw ChatError.noSuchFile }
        return found
    }

    struct StandaloneDownload: Sendable {
        /// Where it goes to. Absolute.
        var path: String
        var link: String
        var created: Timestamp
    }

    /// nil when it has ended.
    func standaloneDownload(_ file: FileID) throws -> StandaloneDownload? {
        try connection.first(
            "SELECT plain_path, link, created FROM file WHERE id = ? AND status = ?", file.rawValue,
            StoredFileStatus.rcvAccepted
        ) { row in
            StandaloneDownload(
                path: row.text("plain_path"), link: row.text("link"), created: row.timestamp("created"))
        }
    }
}

extension UploadRemains {
    /// From the columns `sender_description`, `upload_state` and `link_description`.
    init(_ row: borrowing Row) {
        self.init(
            senderDescription: row.textOrNil("sender_description"), state: row.bytesOrNil("upload_state"),
            linkDescription: row.textOrNil("link_description"))
    }
}
