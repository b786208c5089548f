import Base

/// The messaging servers of one profile, whoever speaks with them.
///
/// There is one connection to each server, made when something is asked and none is there, and shared by all who ask.
/// One that was subscribed to queues and broke off is made again by itself, as one that was to be and could not be
/// made; `connected` tells of it, and nothing is subscribed then: who listens asks for its queues again.
///
/// Safe to use from any thread and task; nothing here blocks.
public protocol QueueServers: Sendable {
    /// Asks one server. A refusal (`Answer.error`) is an answer.
    /// - Throws: where there is none: `.unreachable`, `.notAllowed`, `.wrongIdentity`, `.unsupportedVersion`, `.tooLong` when nothing was
    ///   asked; `.timedOut`, `.disconnected`, `.malformed` when it may have happened all the same. Of a server that is
    ///   asked through another one also `.notAuthentic`, and `.server` with the refusal of that one.
    func ask(_ request: ClientRequest, of server: ServerAddress) async throws(SMPError) -> Answer

    /// Asks one server several things at once, as many in a block as fit: subscriptions above all. Answers stand in
    /// the order of the requests.
    func ask(_ requests: [ClientRequest], of server: ServerAddress) async -> [Result<Answer, SMPError>]

    /// What servers say by themselves, for one listener; asked for by a second one, it divides between them.
    ///
    /// A listener may ask and wait for answers before it takes the next event. Memory is bounded however slow it is:
    /// of each queue there is one message that was not acknowledged, and of all together so many that what comes
    /// beyond is left with its server, and fetched again when the listener has caught up. So the same message may
    /// come twice, and messages of one queue never overtake each other.
    var events: AsyncStream<QueueServerEvent> { get }
}

/// What a server says by itself.
public enum QueueServerEvent: Sendable, Hashable {
    /// A message in the server's box (`DeliveredBody`), which is delivered again after each subscription until it is
    /// acknowledged. `body` has at most 16 KiB.
    case delivered(ServerAddress, recipientID: [UInt8], messageID: [UInt8], body: [UInt8])
    /// Another connection has subscribed to this queue: not to be fought for.
    case ended(ServerAddress, recipientID: [UInt8])
    /// Another connection has deleted this queue.
    case deleted(ServerAddress, recipientID: [UInt8])
    /// The connection is there again, after `disconnected` or after subscribing failed, and nothing is subscribed.
    case connected(ServerAddress)
    /// A connection with subscriptions is gone, and they with it. What it delivered comes again.
    case disconnected(ServerAddress)
}
