import Agent
import Base
import ChatCore
import Store

/// State of a contact request.
enum StoredRequestState: String, SQLBindable, CaseIterable {
    /// Waits for the user's answer.
    case waiting
    /// To be passed to the agent, like `rejected`.
    case accepted
    case rejected
    /// Answered. Its connection exists, unless an automatic acceptance failed.
    case joined
}

/// The profile's address, its contact requests, and contacts' group invitations.
struct RequestTable {
    let connection: Connection
    let profile: Int64

    // MARK: - Address

    struct Address: Sendable {
        var connection: ConnectionID
        var link: String
        var acceptance: RequestAcceptance
        /// Number of renamings since the link's data was updated.
        var untold: Int64
        /// Whether another program receives the requests, or the queue is lost.
        var isTakenOver: Bool
    }

    func address() throws -> Address? {
        try connection.first(
            "SELECT connection, link, accepts, untold, is_taken_over FROM contact_address WHERE profile = ?",
            profile
        ) { row in
            Address(
                connection: ConnectionID(row.integer("connection")), link: row.text("link"),
                acceptance: try row.value("accepts", as: RequestAcceptance.self),
                untold: row.integer("untold"), isTakenOver: row.bool("is_taken_over"))
        }
    }

    func insert(address id: ConnectionID, link: String, _ acceptance: RequestAcceptance) throws {
        try connection.execute(
            "INSERT INTO contact_address (profile, connection, link, accepts) VALUES (?, ?, ?, ?)", profile,
            id.number, link, acceptance.rawValue)
    }

    /// No effect unless this connection is the address.
    func setTakenOver(_ isTakenOver: Bool, of id: ConnectionID) throws {
        try connection.execute(
            "UPDATE contact_address SET is_taken_over = ? WHERE profile = ? AND connection = ?", isTakenOver,
            profile, id.number)
    }

    func setAcceptance(_ acceptance: RequestAcceptance) throws {
        try connection.execute(
            "UPDATE contact_address SET accepts = ? WHERE profile = ?", acceptance.rawValue, profile)
    }

    /// Records that the link's data is outdated.
    func noteRenamed() throws {
        try connection.execute("UPDATE contact_address SET untold = untold + 1 WHERE profile = ?", profile)
    }

    /// Records an update of the link's data, unless the profile was renamed meanwhile.
    func noteTold(_ untold: Int64) throws {
        try connection.execute(
            "UPDATE contact_address SET untold = 0 WHERE profile = ? AND untold = ?", profile, untold)
    }

    /// Deletes the address and its unanswered requests.
    func removeAddress() throws {
        try connection.execute("DELETE FROM contact_address WHERE profile = ?", profile)
        try connection.execute(
            "DELETE FROM contact_request WHERE profile = ? AND chat IS NULL AND state != ?", profile,
            StoredRequestState.joined
        )
    }

    // MARK: - Requests

    /// A stored request.
    struct Request: Sendable {
        var number: Int64
        var asked: ContactRequestID
        /// Chat of the contact that sent a group invitation; nil for a request at the address.
        var chat: Int64?
        var message: [UInt8]
        var time: Timestamp
        var state: StoredRequestState
        var connection: ConnectionID?
        /// Why it could not be answered so far.
        var problem: String?
    }

    func insert(
        _ asked: ContactRequestID, sameAs id: [UInt8]?, message: [UInt8], at time: Timestamp,
        _ state: StoredRequestState, acceptedAt accepted: ElapsedTime? = nil, chat: Int64? = nil
    ) throws {
        try connection.execute(
            """
            INSERT INTO contact_request (profile, asked, same_as, message, time, state, chat, accepted)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """, profile, asked.number, id, message, time, state, chat, accepted)
    }

    /// Schedules a request's rejection by the agent.
    func reject(_ asked: ContactRequestID) throws {
        try insert(asked, sameAs: nil, message: [], at: Timestamp(seconds: 0), .rejected)
    }

    func request(_ number: Int64) throws -> Request? {
        try requests("id = ?", number).first
    }

    /// Returns the waiting request with the same id.
    /// - Parameter chat: chat of the inviting contact; nil for requests at the address. Senders choose ids,
    ///   so requests of other chats never match.
    func waiting(sameAs id: [UInt8], in chat: Int64? = nil) throws -> Request? {
        try requests("state = 'waiting' AND same_as = ?", id).first { $0.chat == chat }
    }

    func all(_ state: StoredRequestState) throws -> [Request] { try requests("state = ?", state) }

    private func requests(_ condition: String, _ value: some SQLBindable) throws -> [Request] {
        try connection.query(
            """
            SELECT id, asked, chat, message, time, state, connection, problem FROM contact_request
            WHERE profile = ? AND \(condition) ORDER BY id
            """, profile, value
        ) { row in
            Request(
                number: row.integer("id"), asked: ContactRequestID(row.integer("asked")),
                chat: row.integerOrNil("chat"),
                message: row.bytes("message"), time: row.timestamp("time"),
                state: try row.value("state", as: StoredRequestState.self),
                connection: row.integerOrNil("connection").map { ConnectionID($0) },
                problem: row.textOrNil("problem"))
        }
    }

    /// Requests for the user: unanswered ones and those whose answer failed.
    func unanswered() throws -> [Request] {
        try requests("(state = ? OR state = 'accepted' AND problem IS NOT NULL)", StoredRequestState.waiting)
    }

    /// - Parameter chat: chat of the inviting contact; nil counts requests at the address.
    func waitingCount(in chat: Int64? = nil) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) AS number FROM contact_request
            WHERE profile = ? AND state = 'waiting' AND chat IS ?
            """, profile, chat
        ) { $0.integer("number") } ?? 0
    }

    /// Returns the number of requests accepted automatically since `time`, by the database's clock.
    func acceptedCount(since time: ElapsedTime) throws -> Int64 {
        try connection.first(
            "SELECT count(*) AS number FROM contact_request WHERE profile = ? AND accepted >= ?", profile,
            time
        ) { $0.integer("number") } ?? 0
    }

    /// Replaces a request by a repetition, possibly with other contents.
    func replace(
        _ number: Int64, by asked: ContactRequestID, message: [UInt8], at time: Timestamp
    ) throws {
        try connection.execute(
            "UPDATE contact_request SET asked = ?, message = ?, time = ?, problem = NULL WHERE id = ?",
            asked.number, message, time, number)
    }

    func setState(_ state: StoredRequestState, of number: Int64) throws {
        try connection.execute("UPDATE contact_request SET state = ? WHERE id = ?", state, number)
    }

    /// Records why an answer failed.
    /// - Parameter isFinal: whether it will not be retried; the user must answer again.
    func setProblem(_ sentence: String, isFinal: Bool, of number: Int64) throws {
        try connection.execute(
            "UPDATE contact_request SET problem = ?, state = ? WHERE id = ? AND state = 'accepted'", sentence,
            isFinal ? StoredRequestState.waiting : .accepted, number)
    }

    /// Records the request's connection. The chat holds the requester's profile from then on.
    /// - Returns: false if the request has been rejected.
    func setJoined(_ number: Int64, by id: ConnectionID) throws -> Bool {
        try connection.execute(
            """
            UPDATE contact_request SET state = 'joined', connection = ?, message = x'', problem = NULL
            WHERE id = ? AND (state IN ('waiting', 'accepted') OR connection = ?)
            """, id.number, number, id.number) > 0
    }

    /// Whether the connection belongs to an accepted request.
    func isAccepted(over id: ConnectionID) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM contact_request WHERE profile = ? AND connection = ?", profile, id.number)
    }

    /// Deletes the request of a deleted connection.
    func forget(joinedBy id: ConnectionID) throws {
        try connection.execute(
            "DELETE FROM contact_request WHERE profile = ? AND connection = ?", profile, id.number)
    }

    /// Deletes an answered request. An automatically accepted one keeps counting until `forgetFailed`.
    func remove(_ number: Int64) throws {
        try connection.execute("DELETE FROM contact_request WHERE id = ? AND accepted IS NULL", number)
        try connection.execute(
            "UPDATE contact_request SET state = 'joined', message = x'', problem = NULL WHERE id = ?", number)
    }

    /// Deletes requests whose automatic acceptance failed and was before `time`.
    func forgetFailed(before time: ElapsedTime) throws {
        try connection.execute(
            """
            DELETE FROM contact_request
            WHERE profile = ? AND state = 'joined' AND connection IS NULL AND accepted < ?
            """, profile, time)
    }
}
