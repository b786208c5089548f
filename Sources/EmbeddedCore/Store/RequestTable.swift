import Agent
import Base
import ChatCore
import Store

/// How far a request is.
enum StoredRequestState: String, SQLBindable, CaseIterable {
    /// For an answer of the user.
    case waiting
    /// The agent is to be told so.
    case accepted
    case rejected
    /// Answered, and known by its connection.
    case joined
}

/// The address of a profile, who asked at it, and into which groups contacts invite.
struct RequestTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    // MARK: - The address

    struct Address: Sendable {
        var connection: ConnectionID
        var link: String
        var acceptance: RequestAcceptance
        /// How often the profile was renamed since what lies behind the link was told.
        var untold: Int64
        /// Another program gets the requests, or nobody does.
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

    /// Nothing where this connection is not the address.
    func setTakenOver(_ isTakenOver: Bool, of id: ConnectionID) throws {
        try connection.execute(
            "UPDATE contact_address SET is_taken_over = ? WHERE profile = ? AND connection = ?", isTakenOver,
            profile, id.number)
    }

    func setAcceptance(_ acceptance: RequestAcceptance) throws {
        try connection.execute(
            "UPDATE contact_address SET accepts = ? WHERE profile = ?", acceptance.rawValue, profile)
    }

    /// What lies behind the link is not true any more.
    func noteRenamed() throws {
        try connection.execute("UPDATE contact_address SET untold = untold + 1 WHERE profile = ?", profile)
    }

    /// It is, unless the profile was renamed in the meantime.
    func noteTold(_ untold: Int64) throws {
        try connection.execute(
            "UPDATE contact_address SET untold = 0 WHERE profile = ? AND untold = ?", profile, untold)
    }

    /// With the requests that nobody has answered.
    func removeAddress() throws {
        try connection.execute("DELETE FROM contact_address WHERE profile = ?", profile)
        try connection.execute(
            "DELETE FROM contact_request WHERE profile = ? AND chat IS NULL AND state != ?", profile,
            StoredRequestState.joined
        )
    }

    // MARK: - Requests

    /// As it is stored.
    struct Request: Sendable {
        var number: Int64
        var asked: ContactRequestID
        /// With the contact who invites into a group; nil of who asks at the address.
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

    /// Has the agent forget it.
    func reject(_ asked: ContactRequestID) throws {
        try insert(asked, sameAs: nil, message: [], at: Timestamp(seconds: 0), .rejected)
    }

    func request(_ number: Int64) throws -> Request? {
        try requests("id = ?", number).first
    }

    /// The one under which the same person waits already, or the same group.
    /// - Parameter chat: of the contact who invites into it; nil of who asks at the address. Each chooses the id, so
    ///   nobody is told by it from others of another chat.
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

    /// Those that the user has to do with: who waits for an answer, and whose answer could not be given.
    func unanswered() throws -> [Request] {
        try requests("(state = ? OR state = 'accepted' AND problem IS NOT NULL)", StoredRequestState.waiting)
    }

    /// - Parameter chat: of the contact who invites; nil: of those who ask at the address.
    func waitingCount(in chat: Int64? = nil) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) AS number FROM contact_request
            WHERE profile = ? AND state = 'waiting' AND chat IS ?
            """, profile, chat
        ) { $0.integer("number") } ?? 0
    }

    /// How many were accepted since then without the user, by the clock of the database.
    func acceptedCount(since time: ElapsedTime) throws -> Int64 {
        try connection.first(
            "SELECT count(*) AS number FROM contact_request WHERE profile = ? AND accepted >= ?", profile,
            time
        ) { $0.integer("number") } ?? 0
    }

    /// They have asked again, maybe in other words.
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

    /// The answer could not be given.
    /// - Parameter isFinal: nor will it be: the user has to answer again.
    func setProblem(_ sentence: String, isFinal: Bool, of number: Int64) throws {
        try connection.execute(
            "UPDATE contact_request SET problem = ?, state = ? WHERE id = ? AND state = 'accepted'", sentence,
            isFinal ? StoredRequestState.waiting : .accepted, number)
    }

    /// What they said of themselves is in their chat from then on.
    func setJoined(_ number: Int64, by id: ConnectionID) throws {
        try connection.execute(
            "UPDATE contact_request SET state = 'joined', connection = ?, message = x'', problem = NULL WHERE id = ?",
            id.number, number)
    }

    /// Whether a connection was made for somebody who asked.
    func isAccepted(over id: ConnectionID) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM contact_request WHERE profile = ? AND connection = ?", profile, id.number)
    }

    /// The connection that was made for it is deleted.
    func forget(joinedBy id: ConnectionID) throws {
        try connection.execute(
            "DELETE FROM contact_request WHERE profile = ? AND connection = ?", profile, id.number)
    }

    func remove(_ number: Int64) throws {
        try connection.execute("DELETE FROM contact_request WHERE id = ?", number)
    }
}
