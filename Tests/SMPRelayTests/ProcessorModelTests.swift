import Base
import Cryptography
import Network
import Posix
import Store
import TestSupport
import Testing

@testable import SMP
@testable import SMPRelay

/// Random histories of clients that create queues, send, subscribe, read and leave, compared with plain arrays. No
/// connections. Some transactions fail at their end.
@Suite("Model of the command processor")
struct ProcessorModelTests {
    @Test("messages reach the last subscriber once and in order", arguments: UInt64(1)...10)
    func history(seed: UInt64) throws {
        var history = try ProcessorHistory(seed: seed)
        for step in 1...500 {
            try history.step()
            if step % 50 == 0 { try history.compare() }
        }
        try history.compare()
        // An empty history would compare nothing.
        #expect(history.delivered > 60 && history.refused > 10 && history.failed > 10 && history.starved > 0)
    }
}

private struct ProcessorHistory {
    private struct Failure: Error {}

    private struct ModelQueue {
        let ids: Answer.QueueIDs
        let key: SigningKey
        var senderKey: SigningKey?
        var isSuspended = false
        var isFull = false
        /// The bodies and receive times of its messages; a nil body marks a full queue.
        var messages: [(body: [UInt8]?, received: Int64)] = []
        var subscriber: UInt64?
        /// The unacknowledged message.
        var underWay: [UInt8]?
    }

    private let folder: TemporaryFolder
    private let database: Database
    private let clock = HandSetClock()
    private let settings: MessageRelaySettings
    private var processor: CommandProcessor
    private let sessionKey = AgreementKey.generate(random: SeededBytes(99))
    private let authority: SessionAuthority
    private var random: SeededGenerator
    private let bytes: SeededBytes
    private var clients: [Client] = []
    private var nextClient: UInt64 = 0
    private var nextText = 0

    private var queues: [ModelQueue] = []
    private(set) var (delivered, refused, failed, starved) = (0, 0, 0, 0)

    init(seed: UInt64) throws {
        folder = try TemporaryFolder()
        database = try Database(
            path: folder.path("queues.db"), migrations: QueueRecords.migrations, durability: .eventual)
        var settings = MessageRelaySettings(
            folder: folder.path,
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity,
            quota: 40 * 1024, expiry: .seconds(5000), clock: clock, random: SeededBytes(seed))
        settings.limits.messages = 3
        self.settings = settings
        processor = CommandProcessor(settings: settings, used: 0)
        authority = SessionAuthority(sessionID: [UInt8](0..<32), key: sessionKey, secret: nil)
        random = SeededGenerator(state: seed)
        bytes = SeededBytes(seed &+ 1)
        for _ in 0..<3 { try addClient() }
    }

    private mutating func addClient() throws {
        nextClient += 1
        clients.append(Client(number: nextClient, wakeUp: try WakeUp()))
    }

    private mutating func chance(_ one: Int, of many: Int) -> Bool {
        Int.random(in: 0..<many, using: &random) < one
    }

    // MARK: - Steps

    mutating func step() throws {
        clock.advance(by: .seconds(Int.random(in: 0...40, using: &random)))
        let client = try #require(clients.randomElement(using: &random))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<16: try makeQueue(client)
        case 16..<45: for _ in 0..<Int.random(in: 1...8, using: &random) { try send(client) }
        case 45..<62: try subscribe(client)
        case 62..<78: try acknowledge(client)
        case 78..<82: try secure(client)
        case 82..<84: try suspend(client)
        case 84..<87: try delete(client)
        case 87..<90: try leave(client)
        case 90..<92: try expire()
        case 92..<95: try take(client)
        default: try subscribeToAll(client)
        }
    }

    /// Performs a command in its own transaction, which may fail first and be repeated.
    private mutating func ask(
        _ command: Command, of entity: [UInt8], key: SigningKey?, by client: Client
    ) throws -> Answer {
        var transmission = Transmission(
            correlationID: bytes.bytes(24), entityID: entity, body: command.encoded(version: 17))
        if let key {
            transmission.authorization = key.sign(
                transmission.signedBytes(sessionID: authority.sessionID))
        }
        let received = ServerSession.Received(transmission, .success(command))
        var authorization = Authorization(authority, password: nil, handsOn: false)
        let examined = try authorization.examine(received, size: 0) { body in
            try database.read { try body(QueueRecords(connection: $0)) }
        }
        let request: Request
        switch examined {
        case .request(let found): request = found
        case .answered(let message):
            guard case .answer(let answer) = message.content else { throw Failure() }
            if case .error = answer { refused += 1 }
            return answer
        }
        if chance(1, of: 8) {
            try fail { try $0.perform(request, of: client, $1) }
        }
        client.asked()
        let entries = try commit { try $0.perform(request, of: client, $1) }
        var answer: Answer?
        for entry in entries {
            if entry.message.isAnswer, case .answer(let given) = entry.message.content {
                #expect(entry.client === client && answer == nil)
                #expect(entry.message.correlationID == transmission.correlationID)
                #expect(entry.message.entityID == entity)
                answer = given
            }
        }
        if case .error = answer { refused += 1 }
        return try #require(answer)
    }

    private mutating func fail(_ body: (inout CommandProcessor, QueueRecords) throws -> Void) throws {
        #expect(throws: Failure.self) {
            try database.transaction { connection in
                try body(&processor, QueueRecords(connection: connection))
                throw Failure()
            }
        }
        processor.rollBack()
        failed += 1
    }

    /// Collects the replies of a commit.
    private mutating func commit(
        _ body: (inout CommandProcessor, QueueRecords) throws -> Void
    ) throws -> [Replies.Entry] {
        try database.transaction { try body(&processor, QueueRecords(connection: $0)) }
        let entries = processor.commit()
        for entry in entries { entry.client.tell(entry.message) }
        told += entries.filter { !$0.message.isAnswer }
        return entries
    }

    /// Replies that the model has not seen yet.
    private var told: [Replies.Entry] = []

    private mutating func lookAtWhatWasTold(ends: [(client: UInt64, queue: [UInt8], answer: Answer)] = []) {
        var ends = ends
        for entry in told {
            switch entry.message.content {
            case .handedOn: Issue.record("nothing came from other servers")
            case .answer(let answer):
                let place = ends.firstIndex {
                    $0.client == entry.client.number && $0.queue == entry.message.entityID
                        && $0.answer == answer
                }
                #expect(place != nil)
                if let place { ends.remove(at: place) }
            case .delivery(let message, _):
                guard let place = queues.firstIndex(where: { $0.ids.recipientID == entry.message.entityID })
                else {
                    Issue.record("a message of a queue that is not there")
                    continue
                }
                #expect(queues[place].subscriber == entry.client.number && queues[place].underWay == nil)
                let first = queues[place].messages.first
                switch message.body {
                case .message(let received, _, let body):
                    #expect(first?.body == body && first?.received == received)
                case .quota(let received):
                    #expect(first != nil && first?.body == nil && first?.received == received)
                }
                queues[place].underWay = message.id
                delivered += 1
            }
        }
        #expect(ends.isEmpty)
        told = []
    }

    private var used: UInt64 {
        queues.reduce(0) { sum, queue in
            queue.messages.reduce(sum + 1024) { $0 + 256 + UInt64($1.body?.count ?? 0) }
        }
    }

    private mutating func makeQueue(_ client: Client) throws {
        let key = try SigningKey(seed: bytes.bytes(32))
        let subscribes = chance(1, of: 2)
        let new = Command.NewQueue(
            recipientKey: key.publicKey, boxKey: try AgreementKey(rawValue: bytes.bytes(32)).publicKey,
            subscribes: subscribes, mode: chance(1, of: 4) ? .contact : .messaging)
        let fits = used + 1024 <= 40 * 1024
        let answer = try ask(.new(new), of: [], key: key, by: client)
        guard case .created(let ids) = answer else {
            #expect(!fits && answer == .error(.quota))
            return
        }
        #expect(fits)
        queues.append(ModelQueue(ids: ids, key: key, subscriber: subscribes ? client.number : nil))
        lookAtWhatWasTold()
    }

    private mutating func send(_ client: Client) throws {
        guard let place = queues.indices.randomElement(using: &random) else { return }
        let queue = queues[place]
        let body = Array("text \(nextText)".utf8)
        nextText += 1
        let isStranger = chance(1, of: 6)
        let key = isStranger ? (queue.senderKey == nil ? queue.key : nil) : queue.senderKey
        let free = used + 256 + UInt64(body.count) <= 40 * 1024
        let answer = try ask(
            .send(flags: [UInt8(ascii: "T")], body: body), of: queue.ids.senderID, key: key, by: client)
        if isStranger || queue.isSuspended {
            #expect(answer == .error(.authorization))
        } else if queue.isFull {
            #expect(answer == .error(.quota))
        } else if queue.messages.count >= 3 {
            #expect(answer == .error(.quota))
            queues[place].isFull = true
            queues[place].messages.append((nil, clock.now().seconds))
        } else {
            #expect(answer == (free ? .ok : .error(.quota)))
            if free { queues[place].messages.append((body, clock.now().seconds)) }
        }
        lookAtWhatWasTold()
    }

    private mutating func subscribe(_ client: Client) throws {
        guard let queue = queues.randomElement(using: &random) else { return }
        try subscribe(client, to: queue.ids.recipientID)
    }

    private mutating func subscribe(_ client: Client, to recipientID: [UInt8]) throws {
        guard let place = queues.firstIndex(where: { $0.ids.recipientID == recipientID }) else { return }
        let queue = queues[place]
        let key = chance(1, of: 10) ? try SigningKey(seed: bytes.bytes(32)) : queue.key
        let answer = try ask(.subscribe, of: queue.ids.recipientID, key: key, by: client)
        guard key.publicKey == queue.key.publicKey else {
            #expect(answer == .error(.authorization))
            return lookAtWhatWasTold()
        }
        #expect(answer == .subscribed)
        let former = queue.subscriber.flatMap { $0 == client.number ? nil : $0 }
        queues[place].subscriber = client.number
        queues[place].underWay = nil
        lookAtWhatWasTold(ends: former.map { [($0, queue.ids.recipientID, .end)] } ?? [])
    }

    private mutating func subscribeToAll(_ client: Client) throws {
        for queue in queues { try subscribe(client, to: queue.ids.recipientID) }
    }

    private mutating func acknowledge(_ client: Client) throws {
        guard let place = queues.indices.randomElement(using: &random) else { return }
        let queue = queues[place]
        let isWrong = chance(1, of: 6)
        let id = isWrong ? bytes.bytes(24) : queue.underWay ?? bytes.bytes(24)
        let answer = try ask(
            .acknowledge(messageID: id), of: queue.ids.recipientID, key: queue.key, by: client)
        guard queue.subscriber == client.number, id == queue.underWay else {
            #expect(answer == .error(.noMessage))
            return lookAtWhatWasTold()
        }
        #expect(answer == .ok)
        queues[place].underWay = nil
        // An expired message was deleted before.
        if !queues[place].messages.isEmpty { queues[place].messages.removeFirst() }
        if queues[place].messages.isEmpty { queues[place].isFull = false }
        lookAtWhatWasTold()
    }

    private mutating func secure(_ client: Client) throws {
        guard let place = queues.indices.randomElement(using: &random) else { return }
        let queue = queues[place]
        let key = try SigningKey(seed: bytes.bytes(32))
        let bySender = chance(1, of: 2)
        let answer =
            bySender
            ? try ask(.senderKey(key: key.publicKey), of: queue.ids.senderID, key: key, by: client)
            : try ask(
                .secure(senderKey: key.publicKey), of: queue.ids.recipientID, key: queue.key, by: client)
        let isAllowed = queue.senderKey == nil && (!bySender || queue.ids.mode == .messaging)
        #expect(answer == (isAllowed ? .ok : .error(.authorization)))
        if isAllowed { queues[place].senderKey = key }
        lookAtWhatWasTold()
    }

    private mutating func suspend(_ client: Client) throws {
        guard let place = queues.indices.randomElement(using: &random) else { return }
        let queue = queues[place]
        #expect(try ask(.suspend, of: queue.ids.recipientID, key: queue.key, by: client) == .ok)
        queues[place].isSuspended = true
        let count = queue.messages.count
        let expected = "{\"qiSnd\":\(queue.senderKey != nil),\"qiNtf\":false,\"qiSize\":\(count)}"
        let information = try ask(
            .queueInformation, of: queue.ids.recipientID, key: queue.key, by: client)
        #expect(information == .information(Array(expected.utf8)))
        lookAtWhatWasTold()
    }

    private mutating func delete(_ client: Client) throws {
        guard let place = queues.indices.randomElement(using: &random) else { return }
        let queue = queues.remove(at: place)
        #expect(try ask(.delete, of: queue.ids.recipientID, key: queue.key, by: client) == .ok)
        let former = queue.subscriber.flatMap { $0 == client.number ? nil : $0 }
        lookAtWhatWasTold(ends: former.map { [($0, queue.ids.recipientID, .deleted)] } ?? [])
        #expect(
            try ask(.subscribe, of: queue.ids.recipientID, key: queue.key, by: client)
                == .error(.authorization))
    }

    private mutating func leave(_ client: Client) throws {
        if chance(1, of: 2) { try fail { processor, _ in processor.remove(client) } }
        _ = try commit { processor, _ in processor.remove(client) }
        for place in queues.indices where queues[place].subscriber == client.number {
            queues[place].subscriber = nil
            queues[place].underWay = nil
        }
        clients.removeAll { $0 === client }
        lookAtWhatWasTold()
        try addClient()
    }

    private mutating func expire() throws {
        if chance(1, of: 2) { try fail { _ = try $0.expire($1) } }
        _ = try commit { _ = try $0.expire($1) }
        let limit = clock.now().seconds - 5000
        for place in queues.indices {
            let count = queues[place].messages.count
            // An expired unacknowledged message can still be acknowledged, without deleting the next one.
            let isFirstGone = (queues[place].messages.first?.received ?? limit) < limit
            queues[place].messages.removeAll { $0.received < limit }
            if queues[place].messages.isEmpty, count > 0 { queues[place].isFull = false }
            if isFirstGone, queues[place].underWay != nil { expired.insert(queues[place].ids.recipientID) }
        }
        lookAtWhatWasTold()
        try acknowledgeExpired()
    }

    /// Queues whose unacknowledged message expired.
    private var expired: Set<[UInt8]> = []

    private mutating func acknowledgeExpired() throws {
        for place in queues.indices where expired.contains(queues[place].ids.recipientID) {
            let queue = queues[place]
            guard let id = queue.underWay,
                let client = clients.first(where: { $0.number == queue.subscriber })
            else { continue }
            let answer = try ask(
                .acknowledge(messageID: id), of: queue.ids.recipientID, key: queue.key, by: client)
            #expect(answer == .ok)
            queues[place].underWay = nil
            if queues[place].messages.isEmpty { queues[place].isFull = false }
            lookAtWhatWasTold()
        }
        expired = []
    }

    /// A client reads its replies and gets postponed deliveries.
    private mutating func take(_ client: Client) throws {
        while client.take().wasStarved {
            client.left()
            starved += 1
            if chance(1, of: 4) { try fail { try $0.resume(client, $1) } }
            _ = try commit { try $0.resume(client, $1) }
            lookAtWhatWasTold()
        }
        client.left()
        #expect(client.unanswered == 0 && client.heldBytes == 0)
    }

    // MARK: - Comparing

    mutating func compare() throws {
        for client in clients { try take(client) }
        for queue in queues where queue.subscriber != nil && !queue.messages.isEmpty {
            #expect(queue.underWay != nil, "a message waits though its recipient has taken everything")
        }
        #expect(processor.disk.bytes == used)
        try database.read { connection in
            let records = QueueRecords(connection: connection)
            #expect(try records.usedBytes() == used)
            for queue in queues {
                let record = try #require(try records.queue(ofRecipient: queue.ids.recipientID))
                #expect(record.senderKey == queue.senderKey?.publicKey && record.mode == queue.ids.mode)
                #expect(record.isSuspended == queue.isSuspended && record.isFull == queue.isFull)
                #expect(try records.queue(ofSender: queue.ids.senderID)?.id == record.id)
                #expect(try records.messageCount(of: record.id) == queue.messages.count)
                #expect(
                    try records.usedBytes(of: record.id)
                        == queue.messages.reduce(1024) {
                            $0 + 256 + UInt64($1.body?.count ?? 0)
                        })
            }
        }
    }
}
