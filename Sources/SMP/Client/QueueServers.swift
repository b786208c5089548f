/// The messaging servers of one profile.
///
/// Each server has at most one connection, which requests share. It opens with the first request. A lost connection
/// with subscriptions is reopened, and so is one whose first subscription failed. `connected` reports that; the
/// listener then subscribes to its queues again.
///
/// Safe to use from any thread and task; nothing here blocks.
public protocol QueueServers: Sendable {
    /// Sends a request to a server. A refusal (`Answer.error`) is an answer.
    /// - Throws: `.unreachable`, `.notAllowed`, `.wrongIdentity`, `.unsupportedVersion` or `.tooLong` if nothing was
    ///   sent; `.timedOut`, `.disconnected` or `.malformed` if the server may have performed the request. Behind a
    ///   proxy also `.notAuthentic`, and `.server` with the proxy's refusal.
    func ask(_ request: ClientRequest, of server: ServerAddress) async throws(SMPError) -> Answer

    /// Sends several requests to one server in as few blocks as possible, mainly subscriptions. Returns answers in the
    /// order of the requests.
    func ask(_ requests: [ClientRequest], of server: ServerAddress) async -> [Result<Answer, SMPError>]

    /// The unsolicited transmissions of servers, for one listener. A second listener would take events from the first.
    ///
    /// A listener may send requests and wait for answers before it takes the next event. Memory is bounded: each queue
    /// has one unacknowledged message. Messages beyond a total limit stay on the server until the listener has caught
    /// up. A message may therefore come twice, but messages of one queue stay in order.
    var events: AsyncStream<QueueServerEvent> { get }
}

/// An unsolicited transmission or a change of a connection.
public enum QueueServerEvent: Sendable, Hashable {
    /// A message in the server's box (`DeliveredBody`), at most 16 KiB. The server repeats it after each subscription
    /// until it is acknowledged.
    case delivered(ServerAddress, recipientID: [UInt8], messageID: [UInt8], body: [UInt8])
    /// Another connection subscribed to this queue. Do not subscribe again.
    case ended(ServerAddress, recipientID: [UInt8])
    /// Another connection has deleted this queue.
    case deleted(ServerAddress, recipientID: [UInt8])
    /// The connection is open again after `disconnected` or a failed subscription. Nothing is subscribed.
    case connected(ServerAddress)
    /// A connection was lost with its subscriptions. Unacknowledged messages come again.
    case disconnected(ServerAddress)
}
