import SMP

/// Connections of a profile to other people. Messages in both directions are encrypted end to end, pass
/// through queues on servers, and are neither lost nor duplicated.
///
/// Every change is stored before it is reported. A database must have one agent at a time: two would encrypt
/// different messages with the same keys. Safe to use from any thread and task; no call blocks.
///
/// Besides the named errors, every command throws `.store`, `.stopped`, and `.damaged` for its connection.
public protocol ConnectionAgent: Sendable {
    /// Creates a queue and links to it. Has no effect if the server does not reply.
    /// - Throws: `.tooLong`, `.serverUnreachable`, `.serverRefused`.
    func invite(_ invitation: Invitation) async throws(AgentError) -> (
        connection: ConnectionID, links: ConnectionLinks
    )

    /// Fetches the data of a short link without joining. Opening a one-time link reserves it for this
    /// profile, which may join it later.
    /// - Throws: `.unusableLink`, `.linkGone`, `.serverUnreachable`, `.serverRefused`.
    func open(link: String) async throws(AgentError) -> OpenedLink

    /// Joins a one-time link, or sends a request to an address. Returns once that is stored; the handshake is
    /// retried until it succeeds or fails, and reported by events. Joining a link again returns the same
    /// connection.
    /// - Parameters:
    ///   - information: this side's connection information, at most `AgentLimits.information` bytes.
    ///   - confirmation: the information to send after an address's owner has accepted.
    ///   - reason: the application's note, repeated in each event of the connection.
    /// - Throws: `.tooLong`; the errors of `open`; `.notPossible` without a server for this side's queue.
    func join(
        link: String, information: [UInt8], confirmation: [UInt8], reason: String?
    ) async throws(AgentError) -> ConnectionID

    /// Accepts a contact request. Accepting again returns the same connection.
    /// - Throws: `.noSuchRequest`, `.tooLong`; `.unusableLink` if the request's keys or versions are
    ///   unusable; `.notPossible` as `join`.
    func accept(
        _ request: ContactRequestID, information: [UInt8], reason: String?
    ) async throws(AgentError) -> ConnectionID

    /// Deletes a request without telling the requester.
    /// - Throws: `.noSuchRequest`.
    func reject(_ request: ContactRequestID) async throws(AgentError)

    /// Stores a message. Messages are sent in order once the connection is established.
    /// - Parameters:
    ///   - body: 1 to `AgentLimits.body` bytes.
    ///   - notifies: whether the server may send a push notification to the peer.
    ///   - identifier: idempotency key, 1 to 64 bytes. Repeating it within 30 days returns the first message.
    /// - Returns: the message's number, used by its events. Numbers rise and are never reused.
    /// - Throws: `.noSuchConnection`, `.ended`, `.tooLong`; `.notPossible` for an empty body, a bad
    ///   identifier, or a connection that is an address.
    func send(
        _ body: [UInt8], to connection: ConnectionID, notifies: Bool, identifier: [UInt8]?
    ) async throws(AgentError) -> Int64

    /// Acknowledges an event, which is then not repeated. Optionally sends a receipt for a received message.
    func acknowledge(event number: Int64, withReceipt: Bool) async throws(AgentError)

    /// Replaces the user data of a short link.
    /// - Parameter data: at most `AgentLimits.linkData` bytes.
    /// - Throws: `.noSuchConnection`, `.tooLong`, `.serverUnreachable`, `.serverRefused`; `.notPossible`
    ///   without a usable short link.
    func setLinkData(_ data: [UInt8], of connection: ConnectionID) async throws(AgentError)

    /// Deletes a connection and its queues. The event `deleted` reports completion.
    /// - Parameter afterSending: whether to send waiting messages first, within their usual time limits.
    ///   Otherwise they fail.
    /// - Throws: `.noSuchConnection`; never `.damaged`.
    func delete(_ connection: ConnectionID, afterSending: Bool) async throws(AgentError)

    /// Returns the security code to compare with the peer; nil before the key agreement. `resynchronise`
    /// changes it.
    /// - Throws: `.noSuchConnection`.
    func security(of connection: ConnectionID) async throws(AgentError) -> ConnectionSecurity?

    /// Restricts application messages to the keys with this security code. Other messages wait, as during a
    /// key agreement.
    /// - Parameter code: value from `security`. Any other text, even an empty one, stops sending; nil allows
    ///   all keys.
    /// - Throws: `.noSuchConnection`.
    func requireSecurity(_ code: String?, of connection: ConnectionID) async throws(AgentError)

    /// Moves this side's receiving queue to a new one.
    /// - Parameter server: server of the new queue; nil keeps the current one.
    /// - Throws: `.noSuchConnection`; `.notPossible` unless the connection is established.
    func rotate(_ connection: ConnectionID, to server: ServerAddress?) async throws(AgentError)

    /// Moves this side's receiving queue to the first of `servers` that it does not use yet. A rotation under
    /// way keeps its target.
    /// - Throws: `.noSuchConnection`, `.ended`; `.notPossible` unless the connection is established and
    ///   another server is among them.
    func move(_ connection: ConnectionID, toOneOf servers: [ServerAddress]) async throws(AgentError)

    /// Agrees on new keys after messages could not be decrypted. Changes the security code.
    /// - Throws: `.noSuchConnection`, `.ended`; `.notPossible` unless the connection is established.
    func resynchronise(_ connection: ConnectionID) async throws(AgentError)

    /// Returns all usable connections. Damaged ones are omitted.
    func connections() async throws(AgentError) -> [ConnectionSummary]
    /// Returns connections in order of their numbers, damaged ones included.
    /// - Parameters:
    ///   - id: last connection of the previous page.
    ///   - count: maximum number of results.
    func overview(after id: ConnectionID, count: Int) async throws(AgentError) -> [ConnectionOverview]
    /// Returns the connections in a phase without loading them.
    func connections(in phase: ConnectionCondition.Phase) async throws(AgentError) -> [ConnectionID]

    /// All unacknowledged events in order, then new ones. Supports one reader.
    var events: AsyncStream<AgentEvent> { get }
}

extension ConnectionAgent {
    /// Joins a link without a reason.
    public func join(
        link: String, information: [UInt8], confirmation: [UInt8]
    ) async throws(AgentError) -> ConnectionID {
        try await join(link: link, information: information, confirmation: confirmation, reason: nil)
    }

    public func accept(
        _ request: ContactRequestID, information: [UInt8]
    ) async throws(AgentError) -> ConnectionID {
        try await accept(request, information: information, reason: nil)
    }
}

/// Size limits in bytes that official programs accept too.
public enum AgentLimits {
    /// Message body without and with post-quantum keys.
    public static let body = 15_795
    public static let postQuantumBody = 13_573
    /// Connection information, leaving space for the reply queue.
    public static let information = 14_300
    public static let postQuantumInformation = 10_600
    public static let linkData = 13_600
}
