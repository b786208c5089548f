import Base
import Cryptography
import Network
import Posix
import SMP

/// The life of one client's connection on its thread: hellos, then blocks in both directions, until somebody closes.
struct ClientConnection {
    private let connection: BlockServer.Connection
    private let service: QueueService
    private let settings: MessageRelaySettings
    private let client: Client
    private let place: FairSemaphore<PeerAddress>.Member
    private var session: ServerSession
    private var authorization: Authorization
    /// The client had sent nothing more when it was looked.
    private var isDry = false
    /// Commands of the last block that the service was not given yet, in their order.
    private var commands: ArraySlice<ServerSession.Received> = []

    /// Commands without an answer with which no more blocks are read: who asks faster than the disk is waits in its own
    /// buffers.
    private static let maxUnanswered = 64
    /// The same for commands whose answers fill a block: 255 of them, in one block, would have four mebibytes of answers
    /// wait here, for each connection of a stranger.
    private static let maxLargeUnanswered = 8
    /// What is held for a command besides its bytes, and for an answer that fills a block.
    private static let commandSize = 512
    /// What a block may come to: its bytes as they came, and as commands.
    private static let blockSize = 2 * TransportBlock.size
    /// After so long in one turn others have theirs.
    private static let turn = Duration.microseconds(500)

    private var stream: BlockStream { connection.stream }

    /// Speaks first and hears the client's hello. Throws when it is none, or does not come.
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
        throw NetworkError(.timeout, "A client did not say who it is in time.")
    }

    /// Returns when the relay stops, and throws when the client has gone or is to go.
    mutating func serve() throws {
        defer { service.submit([.gone(client)]) }
        var heard = ContinuousClock.now
        var moved = ContinuousClock.now
        while !connection.isStopping {
            let hasSent = try send()
            if hasSent || !stream.hasUnsent { moved = .now }
            var isIdle = !hasSent
            // Answers leave at once; only what costs others something waits for its turn.
            if mayExamine || mayHear && !isDry {
                let hasHeard = try service.turns.withTurn(of: place) { () throws in try hear() }
                if hasHeard { heard = .now }
                isIdle = false
            }
            // What waits for an answer waits for nobody any more.
            guard mayHear || !stream.isBroken else {
                throw NetworkError(.closed, "The client's connection broke off.")
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

    /// Whether another block would be taken.
    private var mayHear: Bool {
        commands.isEmpty && client.unanswered < Self.maxUnanswered && !stream.hasUnsent
            && client.mayHold(Self.blockSize)
    }

    /// Whether a command may be examined.
    private var mayExamine: Bool {
        guard let next = commands.first, !stream.hasUnsent else { return false }
        return client.unanswered < (next.hasLargeAnswer ? Self.maxLargeUnanswered : Self.maxUnanswered)
    }

    /// Takes a block where one may be taken, and examines commands, for as long as a turn. Whether the client said something.
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

    /// Takes the commands of a block. The one before has none left.
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

    /// Bytes that are held for a command until its answer has left.
    private static func size(of received: ServerSession.Received) -> Int {
        commandSize + received.transmission.body.count + (received.hasLargeAnswer ? TransportBlock.size : 0)
    }

    /// Finds out who has authorised commands and hands them to the service, as many as may be without an answer and as there
    /// is time for.
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
            Log("relay").error("The author of a request could not be looked up. \(sentence(of: error))")
            return .answered(
                Client.Message(
                    correlationID: received.transmission.correlationID,
                    entityID: received.transmission.entityID, content: .answer(.error(.internalError)),
                    isAnswer: true, size: size))
        }
    }

    /// Sends what there is to say, as far as the socket takes it. True when something left.
    private mutating func send() throws -> Bool {
        let hasSent = try drain()
        if !stream.hasUnsent { client.left() }
        // What is not taken keeps its capacity, so who reads nothing has nothing more fetched.
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
        case .handedOn(let answer, let boxes): boxes.sealed(answer)
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
