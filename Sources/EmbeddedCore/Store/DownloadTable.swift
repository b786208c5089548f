import Base
import ChatCore
import Store

/// The row of a received file.
struct ReceivedFileRow {
    var status: StoredFileStatus
    /// Whether its description has arrived.
    var isDescribed: Bool
    var transport: ChatFile.Transport
    var problem: FileProblem
    /// Plaintext bytes.
    var size: UInt64
    var wish: AutomaticReception
    /// Whether the user approved its relays for this file.
    var isApproved: Bool
    var created: Timestamp

    /// Throws if the file can never be received.
    /// - Throws: `.file` with the reason.
    func refuseWhenOver() throws(ChatError) {
        switch status {
        case .rcvCancelled: throw ChatError(.file(.cancelledBySender), "The sender cancelled the file.")
        case .rcvError: throw ChatError(.file(problem.kind), problem.sentence)
        default: return
        }
    }
}

/// Whether to receive a file automatically.
enum AutomaticReception: Int64 {
    /// Not automatically: the user cancelled it or deleted its copy.
    case declined = -1
    /// If its type and size permit.
    case none = 0
    /// Always.
    case requested = 1
}

/// Columns of file rows for downloads.
struct DownloadTable {
    let connection: Connection
    let profile: Int64

    // MARK: - Offers

    /// - Throws: `ChatError.noSuchFile`, also for a sent or standalone file.
    func existingOffer(_ file: FileID) throws -> ReceivedFileRow {
        guard let offer = try offer(file) else { throw ChatError.noSuchFile }
        return offer
    }

    /// Returns nil also for a sent or standalone file.
    func offer(_ file: FileID) throws -> ReceivedFileRow? {
        let offer = try connection.first(
            """
            SELECT status, transport, description IS NOT NULL AS is_described, problem, problem_sentence, size, to_receive,
                approved, created
            FROM file WHERE id = ? AND profile = ? AND item IS NOT NULL
            """, file.rawValue, profile
        ) { row in
            ReceivedFileRow(
                status: try row.value("status"), isDescribed: row.bool("is_described"),
                transport: try row.value("transport", as: ChatFile.Transport.self),
                problem: try row.problem(), size: row.unsigned("size"),
                wish: AutomaticReception(rawValue: row.integer("to_receive")) ?? .none,
                isApproved: row.bool("approved"), created: row.timestamp("created"))
        }
        return offer.flatMap { $0.status.isSent ? nil : $0 }
    }

    /// Returns the received text of the description and the size announced by the message in bytes; nil
    /// without a description.
    func description(of file: FileID) throws -> (text: String, size: UInt64)? {
        let found = try connection.first(
            "SELECT description, size FROM file WHERE id = ? AND profile = ?", file.rawValue, profile
        ) { row in row.textOrNil("description").map { (text: $0, size: row.unsigned("size")) } }
        return found ?? nil
    }

    /// Returns items of described files in these states that were requested, or may be received automatically
    /// and have not expired.
    func items(ofDescribed statuses: [StoredFileStatus], at time: Timestamp) throws -> [ItemID] {
        try connection.query(
            """
            SELECT i.id FROM file f JOIN item i ON i.id = f.item
            WHERE f.profile = ? AND f.status IN (\(StoredFileStatus.list(statuses)))
            AND f.description IS NOT NULL
            AND (f.to_receive = ? OR f.to_receive = ? AND i.kind IN ('image', 'video', 'voice')
                AND coalesce(f.expires > ?, 1))
            """, profile, AutomaticReception.requested.rawValue, AutomaticReception.none.rawValue, time
        ) { ItemID($0.integer("id")) }
    }

    /// Records a request for the file.
    func request(_ file: FileID, _ status: StoredFileStatus, isApproved: Bool) throws {
        try connection.execute(
            "UPDATE file SET status = ?, to_receive = ?, approved = ? WHERE id = ?",
            status, AutomaticReception.requested.rawValue, isApproved, file.rawValue)
    }

    /// Records that the user declined the file. The next download uses a new key.
    func decline(_ file: FileID) throws {
        try connection.execute(
            """
            UPDATE file SET to_receive = ?, approved = 0, key = NULL, nonce = NULL, content_offset = NULL
            WHERE id = ?
            """,
            AutomaticReception.declined.rawValue, file.rawValue)
    }

    /// Clears the decline of a file that was received after all, so that a lost copy is received again.
    func forgetDecline(of file: FileID) throws {
        try connection.execute(
            "UPDATE file SET to_receive = ? WHERE id = ? AND to_receive = ?",
            AutomaticReception.none.rawValue,
            file.rawValue, AutomaticReception.declined.rawValue)
    }

    // MARK: - Downloads by the core

    /// Files that the core is to receive.
    func downloading() throws -> Set<FileID> {
        Set(
            try connection.query(
                """
                SELECT id FROM file WHERE profile = ?
                AND status IN (\(StoredFileStatus.list(StoredFileStatus.downloading)))
                """, profile
            ) { FileID($0.integer("id")) })
    }

    /// Returns the key of a growing CryptoFile, the same in each attempt. Stores `fresh` if there is none.
    func arguments(of file: FileID, orElse fresh: FileArguments) throws -> FileArguments? {
        try connection.execute(
            "UPDATE file SET key = ?, nonce = ?, content_offset = NULL WHERE id = ? AND key IS NULL",
            fresh.key, fresh.nonce, file.rawValue)
        return try connection.first("SELECT key, nonce FROM file WHERE id = ?", file.rawValue) { row in
            FileArguments(key: row.bytes("key"), nonce: row.bytes("nonce"))
        }
    }

    // MARK: - Damaged copies

    /// Returns the name of a received file's local copy if the file can be downloaded again.
    func replaceableCopy(of file: FileID) throws -> String? {
        try connection.first(
            """
            SELECT stored_name FROM file WHERE id = ? AND profile = ? AND status = ?
            AND description IS NOT NULL AND stored_name IS NOT NULL
            """, file.rawValue, profile, StoredFileStatus.rcvComplete
        ) { $0.text("stored_name") }
    }

    /// Makes a received file an offer again. The next copy uses a new key.
    func offerAgain(_ file: FileID) throws {
        try connection.execute(
            """
            UPDATE file SET status = ?, problem = NULL, problem_sentence = NULL,
                stored_name = NULL, key = NULL, nonce = NULL, content_offset = NULL
            WHERE id = ?
            """, StoredFileStatus.rcvInvitation, file.rawValue)
    }

    /// Returns the name of a received file's local copy.
    func receivedCopy(of file: FileID) throws -> String? {
        try connection.first(
            """
            SELECT stored_name FROM file WHERE id = ? AND profile = ? AND item IS NOT NULL AND status = ?
            AND stored_name IS NOT NULL
            """, file.rawValue, profile, StoredFileStatus.rcvComplete
        ) { $0.text("stored_name") }
    }

    /// Records that no copy of a received file is left.
    func letGo(of file: FileID, _ problem: FileProblem) throws {
        try connection.execute(
            """
            UPDATE file SET status = ?, problem = ?, problem_sentence = ?, stored_name = NULL, key = NULL, nonce = NULL,
                content_offset = NULL, to_receive = 0
            WHERE id = ?
            """, StoredFileStatus.rcvError, problem.kind.rawValue, problem.sentence, file.rawValue)
    }

    /// Whether a file has at best a damaged copy.
    func lacksGoodCopy(_ file: FileID) throws -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM file WHERE id = ? AND profile = ? AND (status != ? OR description IS NULL)
            """, file.rawValue, profile, StoredFileStatus.rcvComplete)
    }
}
