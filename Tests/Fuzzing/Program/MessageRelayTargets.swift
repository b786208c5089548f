import Base
import Cryptography
import Posix
import Store

@testable import Network
@testable import SMP
@testable import SMPRelay

extension Target {
    /// A relay for messages with an arbitrary client.
    static let messageRelay = [
        Target("smp-relay", "requests to our relay for messages", longest: 256) { bytes in
            var input = Input(bytes)
            var relay = MessageRelayFixture()
            while !input.isAtEnd { relay.step(&input) }
            relay.checkQuota()
        }
    ]
}

/// The operations of two clients and the disk on the relay, without its network. All inputs share its database, which
/// is emptied after each.
private struct MessageRelayFixture {
    private static let database: Database = {
        guard
            let database = try? Database(
                path: Scratch.newPath("queues"), migrations: QueueRecords.migrations, durability: .eventual)
        else { fatalError("a database cannot be made") }
        guard (try? database.takeOver()) != nil else { fatalError("it cannot be taken over") }
        return database
    }()
    private static let settings: MessageRelaySettings = {
        guard let identity = try? NewServerIdentity.make(.ed25519, hostName: "x").identity else {
            fatalError("an identity cannot be made")
        }
        var settings = MessageRelaySettings(folder: "", identity: identity, quota: 64 << 10)
        settings.limits.messages = 3
        return settings
    }()
    private static let keys = (0..<2).map { _ in SigningKey.generate() }
    private static let boxKey = AgreementKey.generate()
    private static let secret = WipedBytes([UInt8](repeating: 7, count: 32))
    private static let authority = SessionAuthority(sessionID: [1, 2, 3], key: boxKey, secret: secret)
    private struct DiskFailure: Error {}

    private let clients: [Client]
    private var processor: CommandProcessor
    /// The ids that a client may know.
    private var ids: [[UInt8]] = [[], [1, 2, 3], [UInt8](repeating: 3, count: 24)]
    private var lastMessage: [UInt8] = []
    private var correlation: UInt64 = 0

    init() {
        clients = [UInt64(1), 2].map { number in
            guard let wakeUp = try? WakeUp() else { fatalError("no event") }
            return Client(number: number, wakeUp: wakeUp)
        }
        processor = CommandProcessor(settings: Self.settings, used: 0)
        hold((try? Self.database.transaction { try $0.execute("DELETE FROM queue") }) != nil, "it is emptied")
    }

    mutating func step(_ input: inout Input) {
        let client = clients[input.number(below: 2)]
        let fails = input.number(below: 8) == 7
        switch input.number(below: 10) {
        case 0:
            commit(fails) { processor, _ in processor.remove(client) }
        case 1:
            let (messages, wasStarved) = client.take()
            for message in messages { note(message) }
            client.left()
            if wasStarved { commit(fails) { try $0.resume(client, $1) } }
        case 2: commit(fails) { _ = try $0.expire($1) }
        case 3:
            // Arbitrary bytes, valid commands or not.
            for bytes in Batch.decode(input.some()) ?? [] {
                guard let transmission = Transmission(decoding: bytes, version: 17) else { continue }
                perform(transmission, of: client, fails)
            }
        default:
            perform(transmission(&input), of: client, fails)
        }
    }

    private mutating func transmission(_ input: inout Input) -> Transmission {
        correlation += 1
        var correlationID = [UInt8](repeating: 0, count: 16)
        correlationID.append(bigEndian: correlation)
        let (key, entityID) = (Self.keys[input.number(below: 2)], ids[input.number(below: ids.count)])
        let (blob, body, boxed) = (input.some(), input.some(), input.some())
        let data = LinkBlobs(fixed: [1], user: blob)
        let command: Command
        switch input.number(below: 16) {
        case 0:
            let link = Command.NewLink(
                id: ids[2], senderID: Command.senderID(of: correlationID), data: data)
            command = .new(
                .init(
                    recipientKey: key.publicKey, boxKey: Self.boxKey.publicKey, mode: .contact, link: link))
        case 1:
            command = .new(
                .init(recipientKey: key.publicKey, boxKey: Self.boxKey.publicKey, mode: .messaging))
        case 2: command = .subscribe
        case 3: command = .secure(senderKey: key.publicKey)
        case 4: command = .acknowledge(messageID: lastMessage)
        case 5: command = .suspend
        case 6: command = .delete
        case 7: command = .queueInformation
        case 8: command = .linkSet(id: ids[2], data: data)
        case 9: command = .linkDelete
        case 10: command = .senderKey(key: key.publicKey)
        case 11: command = .send(flags: [], body: body)
        case 12: command = .linkKey(key: key.publicKey)
        case 13: command = .linkGet
        case 14: command = .ping
        default: command = .relayForward(box: Self.handedOn(boxed, correlationID))
        }
        var transmission = Transmission(
            correlationID: correlationID, entityID: entityID, body: command.encoded(version: 17))
        if input.bool() {
            transmission.authorization = key.sign(transmission.signedBytes(sessionID: [1, 2, 3]))
        }
        return transmission
    }

    /// A request forwarded by another server: its box can be opened, and that of its client if the bytes are long.
    private static func handedOn(_ bytes: [UInt8], _ nonce: [UInt8]) -> [UInt8] {
        let client = AgreementKey.generate()
        var content: [UInt8] = []
        content.append(byteString: nonce)
        content.append(bigEndian: UInt16(17))
        content.append(byteString: client.publicKey)
        if bytes.count > 8, let secret = try? client.wipedSecret(with: boxKey.publicKey) {
            content +=
                MessageBox.seal(Batch.encode([bytes]), paddedTo: 16_226, key: secret, nonce: nonce) ?? []
        } else {
            content += bytes
        }
        return MessageBox.seal(content, key: secret, nonce: nonce)
    }

    private mutating func perform(_ transmission: Transmission, of client: Client, _ fails: Bool) {
        let command = Command(decoding: transmission.body, version: 17)
        let received = ServerSession.Received(
            transmission, command.map { .success($0) } ?? .failure(.command(.syntax)))
        client.asked()
        var authorization = Authorization(Self.authority, password: nil, handsOn: false)
        let examined = try? authorization.examine(received, size: 100) { body in
            try Self.database.read { try body(QueueRecords(connection: $0)) }
        }
        client.hold(100)
        let request: Request
        switch examined {
        case .request(let found): request = found
        case .answered(let message): return client.tell(message)
        case nil: fatalError("the database does not answer")
        }
        let told = commit(fails) { try $0.perform(request, of: client, $1) }
        let answers = told.filter { $0.message.isAnswer }
        hold(answers.count == (fails ? 0 : 1), "every request has one answer")
        if fails {
            client.tell(
                Client.Message(
                    correlationID: [], entityID: [], content: .answer(.error(.internalError)), isAnswer: true)
            )
        }
    }

    /// A transaction that the disk may refuse at its end.
    @discardableResult
    private mutating func commit(
        _ fails: Bool, _ body: (inout CommandProcessor, QueueRecords) throws -> Void
    ) -> [(client: Client, message: Client.Message)] {
        var copy = processor
        let done: Void? = try? Self.database.transaction { connection in
            try body(&copy, QueueRecords(connection: connection))
            if fails { throw DiskFailure() }
        }
        processor = copy
        hold((done != nil) == !fails, "the database does what it is asked")
        if fails {
            processor.rollBack()
            return []
        }
        let told = processor.commit()
        for entry in told { entry.client.tell(entry.message) }
        return told
    }

    /// At the end, because a wrong count stays wrong.
    func checkQuota() {
        let used = try? Self.database.read { try QueueRecords(connection: $0).usedBytes() }
        hold(used == processor.disk.bytes, "the quota counts what is there")
    }

    private mutating func note(_ message: Client.Message) {
        switch message.content {
        case .delivery(let stored, let secret):
            lastMessage = stored.id
            let box = stored.body.sealed(messageID: stored.id, secret: secret)
            hold(box?.count == 16_122, "a message fits into its box")
        case .answer(.created(let queue)):
            if ids.count < 12 { ids += [queue.recipientID, queue.senderID] }
        case .handedOn(let answer, let boxes):
            hold(
                boxes.sealed(answer).encoded(version: 17).count < 16_368,
                "an answer in boxes fits into a block")
        case .answer(let answer):
            hold(answer.encoded(version: 17).count < 16_300, "an answer fits into a block")
        }
    }
}
