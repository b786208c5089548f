import Base
import Cryptography

/// The client's side of one connection after the hellos, without input and output: requests and blocks go in, blocks
/// and events come out. Any number of requests may be pending; answers come in any order.
///
/// The session is open until it returns `closed`, and silent afterwards. Times come from a monotonic clock.
public struct ClientSession: Sendable {
    private struct Pending {
        let id: ClientRequest.ID
        let command: Command
        let entityID: [UInt8]
        let deadline: Duration
        /// False for the session's own ping.
        let isAsked: Bool
    }

    /// The silence of a subscribed server after which the session sends a ping, and the interval of further pings.
    static let silenceBeforePing = Duration.seconds(600)
    static let silenceBetweenPings = Duration.seconds(150)
    /// The silence and the number of unanswered requests after which the connection is lost.
    static let silenceBeforeEnd = Duration.seconds(900)
    static let unansweredBeforeEnd = 3

    private let keys: SessionKeys
    private var blocks: BlockCipher
    private let random: any RandomSource
    private var isOpen = true
    private var lastID: UInt64 = 0
    private var pending: [[UInt8]: Pending] = [:]
    /// Encoded requests in their order.
    private var waiting: [[UInt8]] = []
    private var lastReceived: Duration
    private var lastPing: Duration?
    /// The number of consecutive requests without an answer in time.
    private var unanswered = 0
    private var isSubscribed = false

    public init(keys: SessionKeys, now: Duration, random: any RandomSource = SystemRandomSource()) {
        self.keys = keys
        blocks = keys.blocks
        self.random = random
        lastReceived = now
    }

    public var version: UInt16 { keys.version }

    /// Adds a request to the next block.
    /// - Throws: `.disconnected` if the connection is closed, `.tooLong`.
    public mutating func submit(_ request: ClientRequest, now: Duration) throws(SMPError) -> ClientRequest.ID
    {
        guard isOpen else {
            throw SMPError(.disconnected, "The connection to the messaging server is closed.")
        }
        return try submit(request, isAsked: true, now: now)
    }

    private mutating func submit(
        _ request: ClientRequest, isAsked: Bool, now: Duration
    ) throws(SMPError) -> ClientRequest.ID {
        let correlationID = request.correlationID ?? random.bytes(Transmission.correlationLength)
        precondition(correlationID.count == Transmission.correlationLength, "a correlation id has 24 bytes")
        precondition(pending[correlationID] == nil, "a correlation id is used once")
        var transmission = Transmission(
            correlationID: correlationID, entityID: request.entityID,
            body: request.command.encoded(version: keys.version))
        if let key = request.key {
            transmission.authorization = try key.authorization(
                of: transmission.signedBytes(sessionID: keys.sessionID), correlationID: correlationID,
                serverKey: keys.serverKey)
        }
        let encoded = transmission.encoded(version: keys.version)
        guard Batch.count([encoded]) == 1 else {
            throw SMPError(.tooLong, "The request is too long for a messaging server.")
        }
        lastID += 1
        let id = ClientRequest.ID(number: lastID)
        pending[correlationID] = Pending(
            id: id, command: request.command, entityID: request.entityID, deadline: now + request.timeout,
            isAsked: isAsked)
        waiting.append(encoded)
        return id
    }

    /// Returns the next block to send, with as many requests as fit, or nil if there is none. Send the blocks in order.
    public mutating func takeBlock() -> [UInt8]? {
        guard isOpen else { return nil }
        let count = Batch.count(waiting)
        guard count > 0 else { return nil }
        defer { waiting.removeFirst(count) }
        return blocks.seal(Batch.encode(Array(waiting[..<count])))
    }

    /// Reads a block of the server.
    public mutating func receive(_ block: [UInt8], now: Duration) -> [ClientEvent] {
        guard isOpen else { return [] }
        let transmissions: [[UInt8]]
        do throws(SMPError) {
            guard let read = Batch.decode(try blocks.open(block)) else { throw .malformed }
            transmissions = read
        } catch {
            return close(error.code)
        }
        lastReceived = now
        unanswered = 0
        lastPing = nil
        var events: [ClientEvent] = []
        for bytes in transmissions {
            guard let transmission = Transmission(decoding: bytes, version: keys.version) else {
                return events + close(.malformed)
            }
            events += take(transmission)
        }
        return events
    }

    private mutating func take(_ transmission: Transmission) -> [ClientEvent] {
        let answer = Answer(decoding: transmission.body, version: keys.version)
        let request = pending.removeValue(forKey: transmission.correlationID)
        guard let answer else { return request.map { failed($0, .malformed) } ?? [] }
        guard let request else { return unasked(answer, of: transmission.entityID) }
        if case .message(let id, let body) = answer {
            // The next message in place of OK. Older servers answer SUB in this way too.
            guard transmission.entityID == request.entityID, let first = request.command.answerBeforeMessage
            else {
                return failed(request, .malformed)
            }
            return answered(request, first) + [
                .delivered(recipientID: request.entityID, messageID: id, body: body)
            ]
        }
        guard let fitting = request.command.fitting(answer) else { return failed(request, .malformed) }
        return answered(request, fitting)
    }

    /// Returns the event of an unsolicited or late transmission.
    private func unasked(_ answer: Answer, of entityID: [UInt8]) -> [ClientEvent] {
        switch answer {
        case .message(let id, let body): [.delivered(recipientID: entityID, messageID: id, body: body)]
        case .end: [.ended(recipientID: entityID)]
        case .deleted: [.deleted(recipientID: entityID)]
        case .error(let error): [.complaint(error)]
        case .created, .subscribed, .ok, .link, .information, .pong, .proxyOpened, .forwarded, .handedOn,
            .unknown:
            []
        }
    }

    private mutating func answered(_ request: Pending, _ answer: Answer) -> [ClientEvent] {
        switch (request.command, answer) {
        case (.subscribe, .subscribed): isSubscribed = true
        case (.new(let queue), .created): isSubscribed = isSubscribed || queue.subscribes
        default: break
        }
        return request.isAsked ? [.answered(request.id, answer)] : []
    }

    private func failed(_ request: Pending, _ code: SMPErrorCode) -> [ClientEvent] {
        request.isAsked ? [.failed(request.id, code)] : []
    }

    /// The time for the next call of `advance`, or nil for none.
    public var nextDeadline: Duration? {
        guard isOpen else { return nil }
        let first = pending.values.map(\.deadline).min()
        return [first, isSubscribed ? nextPing : nil, end].compactMap(\.self).min()
    }

    private var nextPing: Duration {
        max(lastReceived + Self.silenceBeforePing, (lastPing ?? .zero) + Self.silenceBetweenPings)
    }

    private var end: Duration? {
        unanswered >= Self.unansweredBeforeEnd ? lastReceived + Self.silenceBeforeEnd : nil
    }

    /// Fails overdue requests and pings a silent server. May add blocks to send.
    public mutating func advance(to now: Duration) -> [ClientEvent] {
        guard isOpen else { return [] }
        let late = pending.filter { $0.value.deadline <= now }
        for correlationID in late.keys { pending[correlationID] = nil }
        unanswered += late.count
        let events = late.values.sorted { $0.id.number < $1.id.number }.flatMap { failed($0, .timedOut) }
        if let end, end <= now { return events + close(.timedOut) }
        if isSubscribed, nextPing <= now {
            lastPing = now
            // A ping fits into a block and needs no key.
            _ = try? submit(
                ClientRequest(.ping, timeout: ClientRequest.backgroundTimeout), isAsked: false, now: now)
        }
        return events
    }

    /// Ends the session because its connection was lost or abandoned.
    public mutating func disconnect() -> [ClientEvent] { isOpen ? close(.disconnected) : [] }

    private mutating func close(_ code: SMPErrorCode) -> [ClientEvent] {
        isOpen = false
        let open = pending.values.sorted { $0.id.number < $1.id.number }
        pending = [:]
        waiting = []
        return open.flatMap { failed($0, .disconnected) } + [.closed(code)]
    }
}

extension Command {
    /// The answer that a message stands for.
    fileprivate var answerBeforeMessage: Answer? {
        switch self {
        case .acknowledge: .ok
        case .subscribe: .subscribed
        default: nil
        }
    }

    /// Returns the answer if it can belong to this command.
    func fitting(_ answer: Answer) -> Answer? {
        if case .error = answer { return answer }
        switch (self, answer) {
        case (.subscribe, .ok): return .subscribed
        case (.new, .created), (.subscribe, .subscribed), (.queueInformation, .information),
            (.ping, .pong), (.proxy, .proxyOpened), (.proxyForward, .forwarded), (.relayForward, .handedOn),
            (.linkKey, .link), (.linkGet, .link), (.secure, .ok), (.acknowledge, .ok),
            (.suspend, .ok),
            (.delete, .ok), (.linkSet, .ok), (.linkDelete, .ok), (.senderKey, .ok), (.send, .ok):
            return answer
        default: return nil
        }
    }
}
