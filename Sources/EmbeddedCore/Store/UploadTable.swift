import Base
import ChatCore
import Store

/// Columns of file rows for uploads and standalone files.
struct UploadTable {
    let connection: Connection
    let profile: Int64

    // MARK: - Uploads

    /// The row of an upload.
    struct Upload {
        enum Source {
            /// Name in the files folder.
            case stored(name: String, FileArguments)
            /// A standalone file, either a CryptoFile or plain.
            case elsewhere(path: String, FileArguments?)
        }

        var source: Source
        var fileName: String
        var recipients: Int
        /// State to resume from.
        var state: [UInt8]?
        var created: Timestamp
    }

    func upload(of file: FileID) throws -> Upload? {
        try connection.first(
            """
            SELECT name, size, recipients, upload_state, created, stored_name, key, nonce, content_offset, plain_path
            FROM file WHERE id = ?
            """, file.rawValue
        ) { row in
            func arguments(_ row: borrowing Row) -> FileArguments {
                FileArguments(
                    key: row.bytes("key"), nonce: row.bytes("nonce"),
                    offset: row.integerOrNil("content_offset"), size: row.unsigned("size"))
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

    /// Stores the state of a running upload. Returns false if it is no longer running.
    func keepState(_ state: [UInt8], of file: FileID) throws -> Bool {
        try connection.execute(
            "UPDATE file SET upload_state = ? WHERE id = ? AND status = ?",
            state, file.rawValue, StoredFileStatus.sndTransfer) > 0
    }

    /// Stores a finished upload's sender description and link.
    func complete(_ file: FileID, senderDescription: String, link: UploadedLink?) throws {
        try connection.execute(
            """
            UPDATE file SET sender_description = ?, upload_state = NULL, link = ?, link_description = ?
            WHERE id = ?
            """, senderDescription, link?.text, link?.senderDescription, file.rawValue)
    }

    /// Records that the file is announced by a message that no server has accepted yet.
    func awaitAnnouncement(of item: ItemID) throws {
        try connection.execute("UPDATE file SET is_announced = 0 WHERE item = ?", item.rawValue)
    }

    /// Records that a server has accepted that message, or that it failed. Returns false if unchanged.
    func noteAnnounced(_ file: FileID) throws -> Bool {
        try connection.execute(
            "UPDATE file SET is_announced = 1 WHERE id = ? AND is_announced = 0", file.rawValue) > 0
    }

    func isAnnounced(_ file: FileID) throws -> Bool {
        try connection.exists("SELECT 1 FROM file WHERE id = ? AND is_announced = 1", file.rawValue)
    }

    /// Stores the description of a recipient's file.
    func describe(_ copy: FileID, _ description: String) throws {
        try connection.execute("UPDATE file SET description = ? WHERE id = ?", description, copy.rawValue)
    }

    /// Withdraws a recipient's file. Returns false if the recipient has received it, or it has failed.
    func withdraw(_ copy: FileID) throws -> Bool {
        try connection.execute(
            """
            UPDATE file SET status = ?, description = NULL WHERE id = ?
            AND inline_content IS NULL
            AND status NOT IN (\(StoredFileStatus.list([.rcvComplete, .rcvError])))
            """, StoredFileStatus.rcvCancelled, copy.rawValue) > 0
    }

    /// Returns the chunks of an upload on relays.
    func uploadedChunks(of file: FileID) throws -> UploadedChunks? {
        try connection.first(
            "SELECT sender_description, upload_state, link_description FROM file WHERE id = ?", file.rawValue,
            row: UploadedChunks.init)
    }

    func forgetUploadedChunks(of file: FileID) throws {
        try connection.execute(
            """
            UPDATE file SET sender_description = NULL, upload_state = NULL, link_description = NULL
            WHERE id = ?
            """, file.rawValue)
    }

    // MARK: - Standalone files

    /// - Parameters:
    ///   - name: file name; nil takes that of the path.
    ///   - arguments: key of a CryptoFile.
    ///   - link: download link; nil for an upload.
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

    /// Returns the upload of a standalone CryptoFile.
    func standaloneUpload(of path: String) throws -> FileID? {
        try connection.first(
            "SELECT id FROM file WHERE profile = ? AND item IS NULL AND plain_path = ? AND key IS NOT NULL",
            profile, path
        ) { FileID($0.integer("id")) }
    }

    /// Returns the result of a standalone upload; nil while it runs.
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
        /// Absolute path of the target.
        var path: String
        var link: String
        var created: Timestamp
    }

    /// Returns nil once it has ended.
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

extension UploadedChunks {
    /// From the columns `sender_description`, `upload_state` and `link_description`.
    init(_ row: borrowing Row) {
        self.init(
            senderDescription: row.textOrNil("sender_description"), state: row.bytesOrNil("upload_state"),
            linkDescription: row.textOrNil("link_description"))
    }
}
