import Base
import ChatCore
import Store

/// A received file as its row has it.
struct Offer {
    var status: StoredFileStatus
    /// Whether its description has arrived.
    var isDescribed: Bool
    var transport: ChatFile.Transport
    var problem: FileProblem
    /// Bytes of plaintext.
    var size: UInt64
    var wish: ReceivingWish
    /// The user approved its relays for this file.
    var isApproved: Bool
    var created: Timestamp

    /// Refuses a file that can never be received.
    /// - Throws: `.file` with what happened to it.
    func refuseWhenOver() throws(ChatError) {
        switch status {
        case .rcvCancelled: throw ChatError(.file(.cancelledBySender), "The sender cancelled the file.")
        case .rcvError: throw ChatError(.file(problem.kind), problem.sentence)
        default: return
        }
    }
}

/// Whether a file is to be received without a further word.
enum ReceivingWish: Int64 {
    /// The user cancelled it, or deleted its copy: not by itself, until somebody asks for it.
    case declined = -1
    /// By its type and size.
    case none = 0
    /// Whatever its type and size.
    case requested = 1
}

/// What the rows of files say about receiving them.
struct DownloadTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    // MARK: - Offers

    /// - Throws: `ChatError.noSuchFile` also for one that was sent or belongs to no chat.
    func existingOffer(_ file: FileID) throws -> Offer {
        guard let offer = try offer(file) else { throw ChatError.noSuchFile }
        return offer
    }

    /// nil also for a file that was sent or belongs to no chat.
    func offer(_ file: FileID) throws -> Offer? {
        let offer = try connection.first(
            """
            SELECT status, transport, description IS NOT NULL AS is_described, problem, problem_sentence, size, to_receive,
                approved, created
            FROM file WHERE id = ? AND profile = ? AND item IS NOT NULL
            """, file.rawValue, profile
        ) { row in
            Offer(
                status: try row.value("status"), isDescribed: row.bool("is_described"),
                transport: try row.value("transport", as: ChatFile.Transport.self),
                problem: try row.problem(), size: row.unsigned("size"),
                wish: ReceivingWish(rawValue: row.integer("to_receive")) ?? .none,
                isApproved: row.bool("approved"), created: row.timestamp("created"))
        }
        return offer.flatMap { $0.status.isSent ? nil : $0 }
    }

    /// The text of the description as it arrived, nil while there is none; and the bytes that the message says.
    func description(of file: FileID) throws -> (text: String, size: UInt64)? {
        let found = try connection.first(
            "SELECT description, size FROM file WHERE id = ? AND profile = ?", file.rawValue, profile
        ) { row in row.textOrNil("description").map { (text: $0, size: row.unsigned("size")) } }
        return found ?? nil
    }

    /// Items of described files in one of these states that may be received without a further word.
    func items(ofDescribed statuses: [StoredFileStatus]) throws -> [ItemID] {
        try connection.query(
            """
            SELECT i.id FROM file f JOIN item i ON i.id = f.item
            WHERE f.profile = ? AND f.status IN (\(StoredFileStatus.list(statuses)))
            AND f.description IS NOT NULL
            AND (f.to_receive = ? OR f.to_receive = ? AND i.kind IN ('image', 'video', 'voice'))
            """, profile, ReceivingWish.requested.rawValue, ReceivingWish.none.rawValue
        ) { ItemID($0.integer("id")) }
    }

    /// Somebody asked for it.
    func request(_ file: FileID, _ status: StoredFileStatus, isApproved: Bool) throws {
        try connection.execute(
            "UPDATE file SET status = ?, to_receive = ?, approved = ? WHERE id = ?",
            status, ReceivingWish.requested.rawValue, isApproved, file.rawValue)
    }

    /// The user does not want it, at least for now: it is not received by itself any more. The next download has a key
    /// of its own.
    func decline(_ file: FileID) throws {
        try connection.execute(
            "UPDATE file SET to_receive = ?, approved = 0, key = NULL, nonce = NULL WHERE id = ?",
            ReceivingWish.declined.rawValue, file.rawValue)
    }

    /// It was received after all: should its copy be lost, it is received as any other.
    func forgetDecline(of file: FileID) throws {
        try connection.execute(
            "UPDATE file SET to_receive = ? WHERE id = ? AND to_receive = ?", ReceivingWish.none.rawValue,
            file.rawValue, ReceivingWish.declined.rawValue)
    }

    // MARK: - Downloads by the core

    /// The files that the core receives, or will.
    func downloading() throws -> Set<FileID> {
        Set(
            try connection.query(
                """
                SELECT id FROM file WHERE profile = ?
                AND status IN (\(StoredFileStatus.list(StoredFileStatus.downloading)))
                """, profile
            ) { FileID($0.integer("id")) })
    }

    /// The key of a CryptoFile that grows, the same in every attempt; `fresh` when there is none yet.
    func arguments(of file: FileID, orElse fresh: FileArguments) throws -> FileArguments? {
        try connection.execute(
            "UPDATE file SET key = ?, nonce = ? WHERE id = ? AND key IS NULL",
            fresh.key, fresh.nonce, file.rawValue)
        return try connection.first("SELECT key, nonce FROM file WHERE id = ?", file.rawValue) { row in
            FileArguments(key: row.bytes("key"), nonce: row.bytes("nonce"))
        }
    }

    // MARK: - Damaged copies

    /// The name of the durable copy of a received file that can be had once more.
    func replaceableCopy(of file: FileID) throws -> String? {
        try connection.first(
            """
            SELECT stored_name FROM file WHERE id = ? AND profile = ? AND status = ?
            AND description IS NOT NULL AND stored_name IS NOT NULL
            """, file.rawValue, profile, StoredFileStatus.rcvComplete
        ) { $0.text("stored_name") }
    }

    /// Makes a received file an offer again. The next copy has a key of its own.
    func offerAgain(_ file: FileID) throws {
        try connection.execute(
            """
            UPDATE file SET status = ?, problem = NULL, problem_sentence = NULL,
                stored_name = NULL, key = NULL, nonce = NULL
            WHERE id = ?
            """, StoredFileStatus.rcvInvitation, file.rawValue)
    }

    /// Of a received file that is here, whether or not it can be had once more.
    func receivedCopy(of file: FileID) throws -> String? {
        try connection.first(
            """
            SELECT stored_name FROM file WHERE id = ? AND profile = ? AND item IS NOT NULL AND status = ?
            AND stored_name IS NOT NULL
            """, file.rawValue, profile, StoredFileStatus.rcvComplete
        ) { $0.text("stored_name") }
    }

    /// Nothing of a received file is left, for good.
    func letGo(of file: FileID, _ problem: FileProblem) throws {
        try connection.execute(
            """
            UPDATE file SET status = ?, problem = ?, problem_sentence = ?, stored_name = NULL, key = NULL, nonce = NULL,
                to_receive = 0
            WHERE id = ?
            """, StoredFileStatus.rcvError, problem.kind.rawValue, problem.sentence, file.rawValue)
    }

    /// Whether a damaged copy is the best that there is of a file.
    func lacksGoodCopy(_ file: FileID) throws -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM file WHERE id = ? AND profile = ? AND (status != ? OR description IS NULL)
            """, file.rawValue, profile, StoredFileStatus.rcvComplete)
    }
}
