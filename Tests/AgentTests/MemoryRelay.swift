import Base
import Cryptography

@testable import SMP

/// An in-memory messaging relay with the behaviour of real servers. One object plays all servers; its clients
/// are `MemoryServers`.
final class MemoryRelay: Sendable {
    /// Injected failures.
    struct Chaos: Sendable {
        /// Drops one request of this many.
        var losesRequests = 0
        /// Drops one reply of this many.
        var losesAnswers = 0
        /// Disconnects at one request of this many, before or after its execution.
        var disconnects = 0
        /// Delivers one message of this many twice.
        var repeats = 0
        /// Delays one request of this many.
        var delays = 0

        static let none = Chaos()
        static let wild = Chaos(losesRequests: 40, losesAnswers: 40, disconnects: 150, repeats: 20, delays: 4)
    }

    private final class Queue {
        let server: ServerAddress
        let recipientID: [UInt8]
        let senderID: [UInt8]
        let recipientKey: [UInt8]
        let secret: WipedBytes
        let mode: QueueMode?
        var senderKey: [UInt8]?
        var link: (id: [UInt8], data: LinkBlobs)?
        var messages: [(id: [UInt8], body: DeliveredBody)] = []
        var isFull = false
        var isSuspended = false
        var subscriber: Int?

        init(
            server: ServerAddress, recipientID: [UInt8], senderID: [UInt8], recipientKey: [UInt8],
            secret: WipedBytes,
            mode: QueueMode?
        ) {
            self.server = server
            self.recipientID = recipientID
            self.senderID = senderID
            self.recipientKey = recipientKey
            self.secret = secret
            self.mode = mode
        }
    }

    private struct State {
        var queues: [[UInt8]: Queue] = [:]
        var bySender: [[UInt8]: Queue] = [:]
        var byLink: [[UInt8]: Queue] = [:]
        var clients: [Int: AsyncStream<QueueServerEvent>.Continuation] = [:]
        var connected: Set<String> = []
        var lastClient = 0
        var random = SystemRandomNumberGenerator()
        var time: Int64 = 1_700_000_000
        var unreachable: Set<ServerAddress> = []
        var silent: Set<ServerAddress> = []
        var counts: [String: Int] = [:]
        /// Commands whose replies are dropped, by word and index.
        var unheard: [String: Set<Int>] = [:]
        var closed: Set<ServerAddress> = []
        var refusing: Set<ServerAddress> = []
        /// Servers that deny every queue (`ERR AUTH`).
        var denying: Set<ServerAddress> = []
        /// Withheld messages by server.
        var withheld: [ServerAddress: [(senderID: [UInt8], body: DeliveredBody)]] = [:]
    }

    // Queues are accessed only inside the lock.
    private let state = Lock(State())
    let quota: Int
    private let chaos: Lock<Chaos>

    init(quota: Int = 128, chaos: Chaos = .none) {
        self.quota = quota
        self.chaos = Lock(chaos)
    }

    func setChaos(_ chaos: Chaos) { self.chaos.withLock { $0 = chaos } }
    var presentChaos: Chaos { chaos.withLock { $0 } }

    func setUnreachable(_ servers: Set<ServerAddress>) { state.withLock { $0.unreachable = servers } }

    /// Advances the servers' time.
    func advance(by seconds: Int64) { state.withLock { $0.time += seconds } }

    /// Makes these servers, and no others, leave requests unanswered.
    func setSilent(_ servers: Set<ServerAddress>) { state.withLock { $0.silent = servers } }
    func isSilent(_ server: ServerAddress) -> Bool { state.withLock { $0.silent.contains(server) } }

    /// Drops the replies to these occurrences of a command; 1 is the next one.
    func loseAnswers(to word: String, _ places: Set<Int>) {
        state.withLock { state in
            let before = state.counts[word] ?? 0
            state.unheard[word] = Set(places.map { $0 + before })
        }
    }

    /// Deletes all queued messages, as servers do after three weeks.
    func loseMessages() {
        state.withLock { state in for queue in state.queues.values { queue.messages = [] } }
    }

    /// Makes these servers refuse new queues.
    func setClosed(_ servers: Set<ServerAddress>) { state.withLock { $0.closed = servers } }

    /// Makes these servers refuse messages with a permanent error.
    func setRefusing(_ servers: Set<ServerAddress>) { state.withLock { $0.refusing = servers } }

    /// Makes these servers answer `SEND` with `ERR AUTH`.
    func setDenying(_ servers: Set<ServerAddress>) { state.withLock { $0.denying = servers } }

    /// Makes the server keep messages instead of delivering them.
    func withhold(at server: ServerAddress) { state.withLock { $0.withheld[server] = [] } }
    func withheldCount(at server: ServerAddress) -> Int { state.withLock { $0.withheld[server]?.count ?? 0 } }

    /// Ends `withhold`, and returns the kept messages for `deliver`.
    func endWithholding(at server: ServerAddress) -> [(senderID: [UInt8], body: DeliveredBody)] {
        state.withLock { state in
            defer { state.withheld[server] = nil }
            return state.withheld[server] ?? []
        }
    }

    /// Delivers a kept message now, with an invented time.
    func deliver(_ kept: (senderID: [UInt8], body: DeliveredBody), at time: Int64) {
        state.withLock { state in
            guard let queue = state.bySender[kept.senderID],
                case .message(_, let flags, let body) = kept.body
            else { return }
            let content = DeliveredBody.message(received: time, flags: flags, body: body)
            queue.messages.append((SystemRandomSource().bytes(24), content))
            if queue.messages.count == 1 { Self.deliver(queue, state, queue.server) }
        }
    }

    /// Numbers of queues and queued messages.
    var queueCount: Int { state.withLock { $0.queues.count } }
    var messageCount: Int { state.withLock { $0.queues.values.reduce(0) { $0 + $1.messages.count } } }
    /// Number of executions of a command.
    func count(_ word: String) -> Int { state.withLock { $0.counts[word] ?? 0 } }

    func connect() -> (client: Int, events: AsyncStream<QueueServerEvent>) {
        let (stream, continuation) = AsyncStream.makeStream(of: QueueServerEvent.self)
        let client = state.withLock { state in
            state.lastClient += 1
            state.clients[state.lastClient] = continuation
            return state.lastClient
        }
        return (client, stream)
    }

    /// Drops a client's subscriptions, as the end of its process does.
    func forget(_ client: Int) {
        state.withLock { state in
            state.clients[client]?.finish()
            state.clients[client] = nil
            for queue in state.queues.values where queue.subscriber == client { queue.subscriber = nil }
        }
    }

    /// Disconnects and reconnects a client.
    func interrupt(_ client: Int, at server: ServerAddress) {
        state.withLock { state in
            for queue in state.queues.values where queue.subscriber == client && queue.server == server {
                queue.subscriber = nil
            }
            state.clients[client]?.yield(.disconnected(server))
            state.clients[client]?.yield(.connected(server))
        }
    }

    func perform(_ request: ClientRequest, of server: ServerAddress, for client: Int) throws(SMPError)
        -> Answer
    {
        try state.withLock { state throws(SMPError) in
            guard state.clients[client] != nil else { throw SMPError(.disconnected, "The client has ended.") }
            guard !state.unreachable.contains(server) else {
                throw SMPError(.disconnected, "The server cannot be reached.")
            }
            if state.connected.insert("\(client) \(server.text)").inserted {
                state.clients[client]?.yield(.connected(server))
            }
            let word = String(
                decoding: request.command.encoded(version: 17).prefix { $0 != 32 }, as: UTF8.self)
            if word == "NEW", state.closed.contains(server) { return .error(.authorization) }
            if word == "SEND", state.refusing.contains(server) { return .error(.largeMessage) }
            if word == "SEND", state.denying.contains(server) {
                state.counts["denied", default: 0] += 1
                return .error(.authorization)
            }
            let answer = Self.answer(request, of: server, for: client, quota: quota, &state)
            state.counts[word, default: 0] += 1
            if state.unheard[word]?.contains(state.counts[word] ?? 0) == true {
                throw SMPError(.timedOut, "The server did not answer in time.")
            }
            return answer
        }
    }

    private static func answer(
        _ request: ClientRequest, of server: ServerAddress, for client: Int, quota: Int, _ state: inout State
    ) -> Answer {
        let key = request.key?.publicKey
        switch request.command {
        case .ping: return .pong
        case .new(let new):
            return create(new, key: key, correlationID: request.correlationID, on: server, &state)
        case .senderKey(let senderKey):
            guard let queue = state.bySender[request.entityID], queue.mode == .messaging, key == senderKey,
                queue.senderKey ?? senderKey == senderKey
            else { return .error(.authorization) }
            queue.senderKey = senderKey
            return .ok
        case .send(let flags, let body): return send(flags, body, request, quota: quota, &state, server)
        case .linkKey(let senderKey):
            guard let queue = state.byLink[request.entityID], queue.mode == .messaging, key == senderKey,
                queue.senderKey ?? senderKey == senderKey, let link = queue.link
            else { return .error(.authorization) }
            queue.senderKey = senderKey
            return .link(senderID: queue.senderID, data: link.data)
        case .linkGet:
            guard let queue = state.byLink[request.entityID], queue.mode == .contact, let link = queue.link
            else {
                return .error(.authorization)
            }
            return .link(senderID: queue.senderID, data: link.data)
        default: return answerRecipient(request, key: key, for: client, &state, server)
        }
    }

    private static func create(
        _ new: Command.NewQueue, key: [UInt8]?, correlationID: [UInt8]?, on server: ServerAddress,
        _ state: inout State
    ) -> Answer {
        guard new.recipientKey == key else { return .error(.authorization) }
        let box = AgreementKey.generate()
        guard let secret = try? box.wipedSecret(with: new.boxKey) else { return .error(.command(.syntax)) }
        let senderID: [UInt8]
        if let link = new.link {
            guard let correlationID, Command.senderID(of: correlationID) == link.senderID else {
                return .error(.command(.prohibited))
            }
            senderID = link.senderID
        } else {
            senderID = SystemRandomSource().bytes(24)
        }
        let queue = Queue(
            server: server, recipientID: SystemRandomSource().bytes(24), senderID: senderID,
            recipientKey: new.recipientKey,
            secret: secret, mode: new.mode)
        state.queues[queue.recipientID] = queue
        state.bySender[senderID] = queue
        var linkID: [UInt8]?
        if let link = new.link {
            let id = link.id ?? SystemRandomSource().bytes(24)
            queue.link = (id, link.data)
            state.byLink[id] = queue
            linkID = id
        }
        return .created(
            .init(
                recipientID: queue.recipientID, senderID: senderID, boxKey: box.publicKey, mode: new.mode,
                linkID: linkID))
    }

    private static func send(
        _ flags: [UInt8], _ body: [UInt8], _ request: ClientRequest, quota: Int, _ state: inout State,
        _ server: ServerAddress
    ) -> Answer {
        guard let queue = state.bySender[request.entityID], queue.senderKey == request.key?.publicKey,
            !queue.isSuspended
        else { return .error(.authorization) }
        if queue.messages.isEmpty { queue.isFull = false }
        guard !queue.isFull else { return .error(.quota) }
        state.time += 1
        let isQuota = queue.messages.count >= quota
        let content: DeliveredBody =
            isQuota ? .quota(received: state.time) : .message(received: state.time, flags: flags, body: body)
        queue.isFull = isQuota
        if !isQuota, state.withheld[server] != nil {
            state.withheld[server]?.append((queue.senderID, content))
            return .ok
        }
        queue.messages.append((SystemRandomSource().bytes(24), content))
        if queue.messages.count == 1 { deliver(queue, state, server) }
        return isQuota ? .error(.quota) : .ok
    }

    private static func deliver(_ queue: Queue, _ state: State, _ server: ServerAddress) {
        guard let subscriber = queue.subscriber, let first = queue.messages.first,
            let body = first.body.sealed(messageID: first.id, secret: queue.secret)
        else { return }
        state.clients[subscriber]?.yield(
            .delivered(server, recipientID: queue.recipientID, messageID: first.id, body: body))
    }

    private static func answerRecipient(
        _ request: ClientRequest, key: [UInt8]?, for client: Int, _ state: inout State,
        _ server: ServerAddress
    ) -> Answer {
        guard let queue = state.queues[request.entityID], queue.recipientKey == key else {
            return .error(.authorization)
        }
        switch request.command {
        case .subscribe:
            if let other = queue.subscriber, other != client {
                state.clients[other]?.yield(.ended(server, recipientID: queue.recipientID))
            }
            queue.subscriber = client
            deliver(queue, state, server)
            return .subscribed
        case .acknowledge(let id):
            guard queue.subscriber == client, queue.messages.first?.id == id else {
                return .error(.noMessage)
            }
            queue.messages.removeFirst()
            deliver(queue, state, server)
            return .ok
        case .secure(let senderKey):
            guard queue.senderKey ?? senderKey == senderKey else { return .error(.authorization) }
            queue.senderKey = senderKey
            return .ok
        case .suspend:
            queue.isSuspended = true
            return .ok
        case .delete:
            state.queues[queue.recipientID] = nil
            state.bySender[queue.senderID] = nil
            if let link = queue.link { state.byLink[link.id] = nil }
            return .ok
        case .queueInformation:
            return .information(
                Array("{\"qiSnd\":true,\"qiNtf\":false,\"qiSize\":\(queue.messages.count)}".utf8))
        case .linkSet(let id, let data):
            guard let link = queue.link, link.id == id, link.data.fixed == data.fixed else {
                return .error(.authorization)
            }
            queue.link = (id, data)
            return .ok
        default: return .error(.command(.prohibited))
        }
    }

    /// Redelivers the first message of each queue of a client.
    func repeatDeliveries(to client: Int, of server: ServerAddress) {
        state.withLock { state in
            for queue in state.queues.values where queue.subscriber == client && queue.server == server {
                Self.deliver(queue, state, server)
            }
        }
    }
}
