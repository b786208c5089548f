import Base
import Cryptography
import Network
import Posix
import SMP

/// One client's connection on its thread: hellos, then blocks in both directions until either side closes.
struct ClientConnection {
    private let connection: BlockServer.Connection
    private let service: QueueService
    private let settings: MessageRelaySettings
    private let client: Client
    private let place: FairSemaphore<PeerAddress>.Member
    private var session: ServerSession
    private var authorization: Authorization
    /// Whether the last look found no more bytes from the client.
    private var isDry = false
    /// The commands of the last block that were not submitted yet, in order.
    private var commands: ArraySlice<ServerSession.Received> = []

    /// The number of unanswered commands at which reading stops. A client faster than the disk then fills its own
    /// buffers.
    private static let maxUnanswered = 64
    /// The limit for commands whose answers fill a block. Otherwise the 255 commands of one block would hold 4 MiB of
    /// answers for each connection.
    private static let maxLargeUnanswered = 8
    /// The bytes held for a command besides its body, and for an answer that fills a block.
    private static let commandSize = 512
    /// The maximum bytes of a block, raw and decoded.
    private static let blockSize = 2 * TransportBlock.size
    /// The time after which a turn ends.
    private static let turn = Duration.microseconds(500)

    private var stream: BlockStream { connection.stream }

    /// Sends the relay's hello and waits for the client's. Throws if it is invalid or late.
    init(
        _ connection: BlockServer.Connection, number: UInt64, service: QueueService,
        settings: MessageRelaySettings
    ) throws {
        self.connection = connection
        self.service = service
        self.settings = settings
        client = Client(
            number: number, peer: connection.peer, budget: service.budget, wakeUp: connection.wakeUp)
        place = connection.place
        let key = AgreementKey.generate()
        try service.turns.withTurn(of: place) { () throws in
            try connection.stream.send(Self.hello(key, settings.identity, connection.stream.channelBinding))
        }
        let block = try Self.firstBlock(connection, within: settings.limits.handshake)
        session = try ServerSession(
            hello: block, sessionID: connection.stream.channelBinding,
            fingerprint: settings.identity.fingerprint, key: key)
        authorization = Authorization(
            session.authority, password: settings.password, handsOn: service.handsOn)
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
        throw NetworkError(.timeout, "The client sent no hello in time.")
    }

    /// Returns when the relay stops. Throws when the client has gone or must be closed.
    mutating func serve() throws {
        defer { service.submit([.gone(client)]) }
        var heard = ContinuousClock.now
        var moved = ContinuousClock.now
        while !connection.isStopping {
            let hasSent = try send()
            if hasSent || !stream.hasUnsent { moved = .now }
            var isIdle = !hasSent
            // Sending needs no turn; work that costs others does.
            if mayExamine || mayHear && !isDry {
                let hasHeard = try service.turns.withTurn(of: place) { () throws in try hear() }
                if hasHeard { heard = .now }
                isIdle = false
            }
            // The client is gone, so no one needs the answer.
            guard mayHear || !stream.isBroken else {
                throw NetworkError(.closed, "The client's connection broke.")
            }
            let quiet = client.isKnown ? settings.limits.idle : settings.limits.stranger
            let end = stream.hasUnsent ? moved + settings.limits.stall : heard + quiet
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else {
                throw NetworkError(.timeout, "A client was silent for too long.")
            }
            if isIdle, stream.wait(receives: mayHear, atMost: left) { isDry = false }
        }
    }

    /// Whether to read another block.
    private var mayHear: Bool {
        commands.isEmpty && client.unanswered < Self.maxUnanswered && !stream.hasUnsent
            && client.mayHold(Self.blockSize)
    }

    /// Whether to examine a command.
    private var mayExamine: Bool {
        guard let next = commands.first, !stream.hasUnsent else { return false }
        return client.unanswered < (next.hasLargeAnswer ? Self.maxLargeUnanswered : Self.maxUnanswered)
    }

    /// Reads a block if allowed, and examines commands for one turn. Returns whether a block arrived.
    private mutating func hear() throws -> Bool {
        var hasHeard = false
        if mayHear {
            if let block = try stream.receive() {
                try receive(block)
                hasHeard = true
            } else {
                isDry = true
            }
        }
        examine()
        return hasHeard
    }

    /// Adds the commands of a block. The previous block has none left.
    private mutating func receive(_ block: [UInt8]) throws {
        for received in try session.receive(block) {
            if let received {
                client.hold(Self.size(of: received))
                commands.append(received)
            } else {
                session.submit(.error(.block), correlationID: [], entityID: [])
            }
        }
    }

    /// Returns the bytes held for a command until its answer was sent.
    private static func size(of received: ServerSession.Received) -> Int {
        commandSize + received.transmission.body.count + (received.hasLargeAnswer ? TransportBlock.size : 0)
    }

    /// Authenticates commands and submits them to the service, within the limits of unanswered commands and time.
    private mutating func examine() {
        let end = ContinuousClock.now + Self.turn
        while mayExamine, let next = commands.popFirst() {
            client.asked()
            switch examined(next) {
            case .request(let request): service.submit([.command(request, client)])
            case .answered(let message): client.tell(message)
            }
            if ContinuousClock.now >= end { break }
        }
    }

    private mutating func examined(_ received: ServerSession.Received) -> Authorization.Examined {
        let (size, service) = (Self.size(of: received), service)
        do {
            return try authorization.examine(received, size: size) { try service.look($0) }
        } catch {
            Log("relay").error("request not authenticated: error=\(sentence(of: error))")
            return .answered(
                Client.Message(
                    correlationID: received.transmission.correlationID,
                    entityID: received.transmission.entityID, content: .answer(.error(.internalError)),
                    isAnswer: true, size: size))
        }
    }

    /// Sends pending messages as far as the socket accepts them. Returns whether bytes were sent.
    private mutating func send() throws -> Bool {
        let hasSent = try drain()
        if !stream.hasUnsent { client.left() }
        // Unsent messages keep their capacity, so nothing more is fetched for a client that does not read.
        guard !stream.hasUnsent else { return hasSent }
        let (messages, wasStarved) = client.take()
        for message in messages {
            guard let answer = Self.answer(message.content) else { continue }
            session.submit(answer, correlationID: message.correlationID, entityID: message.entityID)
        }
        if wasStarved { service.submit([.ready(client)]) }
        let hasSentMore = try drain()
        if !stream.hasUnsent { client.left() }
        return hasSentMore || hasSent
    }

    /// Sends blocks until none is left or the socket is full.
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
        case .handedOn(let answer, let boxes): boxes.sealed(answer)
        case .delivery(let message, let secret):
            message.body.sealed(messageID: message.id, secret: secret).map {
                .message(id: message.id, body: $0)
            }
        }
    }
}

extension ServerSession.Received {
    /// Whether the answer may fill a block.
    fileprivate var hasLargeAnswer: Bool {
        switch command {
        case .success(.linkGet), .success(.linkKey), .success(.proxy), .success(.proxyForward),
            .success(.relayForward):
            true
        default: false
        }
    }
}
