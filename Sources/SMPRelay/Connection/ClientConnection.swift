import Base
import Cryptography
import Network
import SMP

/// The life of one client's connection on its thread: hellos, then blocks in both directions, until somebody closes.
struct ClientConnection {
    private let connection: BlockServer.Connection
    private let service: QueueService
    private let settings: MessageRelaySettings
    private let client: Client
    private var session: ServerSession
    /// Commands of the last block that the service was not given yet, in their order.
    private var commands: ArraySlice<ServerSession.Received> = []

    /// Commands without an answer with which no more blocks are read: who asks faster than the disk is waits in its own
    /// buffers.
    private static let maxUnanswered = 64
    /// The same for commands whose answers fill a block: 255 of them, in one block, would have four mebibytes of answers
    /// wait here, for each connection of a stranger.
    private static let maxLargeUnanswered = 8

    private var stream: BlockStream { connection.stream }

    /// Speaks first and hears the client's hello. Throws when it is none, or does not come.
    init(
        _ connection: BlockServer.Connection, number: UInt64, service: QueueService,
        settings: MessageRelaySettings
    ) throws {
        self.connection = connection
        self.service = service
        self.settings = settings
        client = Client(number: number, wakeUp: connection.wakeUp)
        let key = AgreementKey.generate()
        try connection.stream.send(Self.hello(key, settings.identity, connection.stream.channelBinding))
        let block = try Self.firstBlock(connection, within: settings.limits.handshake)
        session = try ServerSession(
            hello: block, sessionID: connection.stream.channelBinding,
            fingerprint: settings.identity.fingerprint, key: key)
    }

    private static func hello(
        _ key: AgreementKey, _ identity: ServerIdentity, _ sessionID: [UInt8]
    ) throws -> [UInt8] {
        let signature = try identity.sign(SignedKey.bytesToSign(for: key.publicKey))
        let hello = ServerHello(
            versions: SMPVersion.servers, sessionID: sessionID, certificates: identity.certificates,
            signedKey: SignedKey.encode(
                key: key.publicKey, algorithmIdentifier: identity.kind.algorithmIdentifier,
                signature: signature))
        guard let block = hello.block() else {
            throw NetworkError(.configuration, "The relay's certificates are too long.")
        }
        return block
    }

    private static func firstBlock(
        _ connection: BlockServer.Connection, within limit: Duration
    ) throws -> [UInt8] {
        let end = ContinuousClock.now + limit
        while !connection.isStopping {
            try connection.stream.flush()
            if let block = try connection.stream.receive() { return block }
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { break }
            connection.stream.wait(atMost: left)
        }
        throw NetworkError(.timeout, "A client did not say who it is in time.")
    }

    /// Returns when the relay stops, and throws when the client has gone or is to go.
    mutating func serve() throws {
        defer { service.submit([.gone(client)]) }
        var heard = ContinuousClock.now
        var moved = ContinuousClock.now
        while !connection.isStopping {
            var isIdle = true
            if try send() {
                moved = .now
                isIdle = false
            }
            if !stream.hasUnsent { submit() }
            let mayAsk =
                commands.isEmpty && client.unanswered < Self.maxUnanswered && !stream.hasUnsent
            // What waits for an answer waits for nobody any more.
            guard mayAsk || !stream.isBroken else {
                throw NetworkError(.closed, "The client's connection broke off.")
            }
            if mayAsk, let block = try stream.receive() {
                try receive(block)
                heard = .now
                isIdle = false
            }
            if !stream.hasUnsent { moved = .now }
            let quiet = client.isKnown ? settings.limits.idle : settings.limits.stranger
            let end = stream.hasUnsent ? moved + settings.limits.stall : heard + quiet
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else {
                throw NetworkError(.timeout, "A client was silent for too long.")
            }
            if isIdle { stream.wait(receives: mayAsk, atMost: left) }
        }
    }

    /// Takes the commands of a block. The one before has none left.
    private mutating func receive(_ block: [UInt8]) throws {
        for received in try session.receive(block) {
            if let received {
                commands.append(received)
            } else {
                session.submit(.error(.block), correlationID: [], entityID: [])
            }
        }
    }

    /// Hands commands to the service, as many as may be without an answer.
    private mutating func submit() {
        var jobs: [QueueService.Job] = []
        while let next = commands.first,
            !next.hasLargeAnswer || client.unanswered < Self.maxLargeUnanswered
        {
            commands.removeFirst()
            client.asked()
            jobs.append(.command(next, client, session.authority))
        }
        if !jobs.isEmpty { service.submit(jobs) }
    }

    /// Sends what there is to say, as far as the socket takes it. True when something left.
    private mutating func send() throws -> Bool {
        let hasSent = try drain()
        // What is not taken keeps its capacity, so who reads nothing has nothing more fetched.
        guard !stream.hasUnsent else { return hasSent }
        let (messages, wasStarved) = client.take()
        for message in messages {
            guard let answer = Self.answer(message.content) else { continue }
            session.submit(answer, correlationID: message.correlationID, entityID: message.entityID)
        }
        if wasStarved { service.submit([.ready(client)]) }
        return try drain() || hasSent
    }

    /// Sends blocks until there are none or the socket takes no more.
    private mutating func drain() throws -> Bool {
        var hasSent = false
        while try stream.flush(), let block = session.takeBlock() {
            try stream.send(block)
            hasSent = true
        }
        return hasSent
    }

    private static func answer(_ content: Client.Message.Content) -> Answer? {
        switch content {
        case .answer(let answer): answer
        case .delivery(let message, let secret):
            message.body.sealed(messageID: message.id, secret: secret).map {
                .message(id: message.id, body: $0)
            }
        }
    }
}

extension ServerSession.Received {
    /// Whether what is answered may fill a block.
    fileprivate var hasLargeAnswer: Bool {
        switch command {
        case .success(.openContact), .success(.openInvitation), .success(.openProxy), .success(.forward),
            .success(.handOn):
            true
        default: false
        }
    }
}
