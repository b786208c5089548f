import Base
import SMP

/// Connections of one profile to other people: messages in both directions over queues of servers, encrypted end to
/// end, none of which is lost and none given twice.
///
/// Everything is in a database before it is said to have happened. One agent at a time may use it: two would give the
/// same keys to different messages. Safe to use from any thread and task; nothing here blocks.
///
/// Every command throws, beside what it names: `.store`, `.stopped`, and `.damaged` of the connection that it is about.
public protocol ConnectionAgent: Sendable {
    /// Makes a queue, and links to it. Without an answer of the server nothing has happened.
    /// - Throws: `.tooLong`, `.serverUnreachable`, `.serverRefused`.
    func invite(_ invitation: Invitation) async throws(AgentError) -> (
        connection: ConnectionID, links: ConnectionLinks
    )

    /// What a short link's owner has put behind it, without joining. A one-time link is this profile's from then on:
    /// nobody else can open it, and joining it later works.
    /// - Throws: `.unusableLink`, `.linkGone`, `.serverUnreachable`, `.serverRefused`.
    func open(link: String) async throws(AgentError) -> OpenedLink

    /// Joins somebody's one-time link, or asks at somebody's address. Returns when that is stored; the rest is tried
    /// until it has worked or failed, and events tell. The same link again is the same connection.
    /// - Parameters:
    ///   - information: who this side is, at most `AgentLimits.information` bytes.
    ///   - confirmation: the same for the second step at an address, when it was accepted.
    ///   - reason: why the application wants the connection, which each event of it repeats.
    /// - Throws: `.tooLong`; as `open`; `.notPossible` where there is no server for the queue of this side.
    func join(
        link: String, information: [UInt8], confirmation: [UInt8], reason: String?
    ) async throws(AgentError) -> ConnectionID

    /// Connects to who asked at an address. As `join`; accepting again is the same connection.
    /// - Throws: `.noSuchRequest`, `.tooLong`; `.unusableLink` for a request with keys or versions that are
    ///   of no use; `.notPossible` as `join`.
    func accept(
        _ request: ContactRequestID, information: [UInt8], reason: String?
    ) async throws(AgentError) -> ConnectionID

    /// Forgets a request; who asked is not told.
    /// - Throws: `.noSuchRequest`.
    func reject(_ request: ContactRequestID) async throws(AgentError)

    /// Takes a message to be sent: it is stored when this returns, and sent in this order when the connection stands.
    /// - Parameters:
    ///   - body: 1 to `AgentLimits.body` bytes.
    ///   - notifies: whether the other side's device is to be woken for it.
    ///   - identifier: the same one again within 30 days is the same message, for who does not know whether it was
    ///     stored; 1 to 64 bytes.
    /// - Returns: the message's number, which events about it have. Numbers rise and are never given twice.
    /// - Throws: `.noSuchConnection`, `.ended`, `.tooLong`; `.notPossible` for nothing at all, another
    ///   length of the identifier, and an address of one's own.
    func send(
        _ body: [UInt8], to connection: ConnectionID, notifies: Bool, identifier: [UInt8]?
    ) async throws(AgentError) -> Int64

    /// Takes an event: it does not come again. Of a received message this sends a receipt where one is wanted.
    func acknowledge(event number: Int64, withReceipt: Bool) async throws(AgentError)

    /// Puts something else behind a short link, at most `AgentLimits.linkData` bytes.
    /// - Throws: `.noSuchConnection`, `.tooLong`, `.serverUnreachable`, `.serverRefused`; `.notPossible`
    ///   where it has no short link (any more).
    func setLinkData(_ data: [UInt8], of connection: ConnectionID) async throws(AgentError)

    /// What those who join the link, from now on, are told of this side.
    /// - Throws: `.noSuchConnection`, `.tooLong`.
    func setInformation(_ information: [UInt8], of connection: ConnectionID) async throws(AgentError)

    /// Deletes a connection and its queues. `deleted` tells when that is done.
    /// - Parameter afterSending: whether what waits is sent before, as long as it would be tried otherwise. If not, it fails.
    /// - Throws: `.noSuchConnection`; never `.damaged`.
    func delete(_ connection: ConnectionID, afterSending: Bool) async throws(AgentError)

    /// Digits that are the same on both sides when nobody is in between; nil before both have agreed. It changes with
    /// `resynchronise`.
    /// - Throws: `.noSuchConnection`.
    func security(of connection: ConnectionID) async throws(AgentError) -> ConnectionSecurity?

    /// Sends no bodies over a connection but with the keys of this security code: what is to be sent waits, as it does for
    /// new keys.
    /// - Parameter code: as `security` gives it; another text, the empty one too: nothing is sent; nil: whatever the keys.
    /// - Throws: `.noSuchConnection`.
    func requireSecurity(_ code: String?, of connection: ConnectionID) async throws(AgentError)

    /// Moves what this side receives to a new queue, of this server or of its present one.
    /// - Throws: `.noSuchConnection`; `.notPossible` for one that does not stand.
    func rotate(_ connection: ConnectionID, to server: ServerAddress?) async throws(AgentError)

    /// Moves what this side receives to the first of these servers that it is not received from now. One that is being
    /// moved goes on to where it was to go.
    /// - Throws: `.noSuchConnection`, `.ended`; `.notPossible` for one that does not stand, and where there is no other
    ///   server among them.
    func move(_ connection: ConnectionID, toOneOf servers: [ServerAddress]) async throws(AgentError)

    /// Agrees on new keys, because messages cannot be decrypted any more. The security code changes.
    /// - Throws: `.noSuchConnection`, `.ended`; `.notPossible` for one that does not stand.
    func resynchronise(_ connection: ConnectionID) async throws(AgentError)

    /// All of them.
    /// - Throws: `.damaged` when one of them is.
    func connections() async throws(AgentError) -> [ConnectionSummary]
    /// All of them, those that are damaged too, in the order of their numbers.
    /// - Parameters:
    ///   - id: those after it.
    ///   - count: at most so many.
    func overview(after id: ConnectionID, count: Int) async throws(AgentError) -> [ConnectionOverview]
    /// Those that are this far, without reading what else there is of them.
    func connections(in phase: ConnectionCondition.Phase) async throws(AgentError) -> [ConnectionID]

    /// What happened, in order, with what was not taken before; for one listener.
    var events: AsyncStream<AgentEvent> { get }
}

extension ConnectionAgent {
    /// For an application that has no reasons.
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

/// Bytes that fit, in what peers of the official programs read too.
public enum AgentLimits {
    /// A message without space for post-quantum keys, and with it.
    public static let body = 15_795
    public static let postQuantumBody = 13_573
    /// What is told when a connection is made, with space for the queue that is told with it.
    public static let information = 14_300
    public static let postQuantumInformation = 10_600
    public static let linkData = 13_600
}
