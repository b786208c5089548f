import Base
import Cryptography
import TestSupport
import Testing

@testable import SMP

/// A minimal server's side of a connection.
struct ScriptedServer {
    var blocks: BlockCipher
    let version: UInt16

    /// Returns the requests of a block.
    mutating func read(_ block: [UInt8]) throws -> [(transmission: Transmission, command: Command)] {
        let content = try blocks.open(block)
        return try #require(Batch.decode(content)).map { bytes in
            let transmission = try #require(Transmission(decoding: bytes, version: version))
            return (transmission, try #require(Command(decoding: transmission.body, version: version)))
        }
    }

    /// Returns the only request of a block.
    mutating func only(_ block: [UInt8]) throws -> (transmission: Transmission, command: Command) {
        let requests = try read(block)
        try #require(requests.count == 1)
        return requests[0]
    }

    mutating func block(_ answers: (correlationID: [UInt8], entityID: [UInt8], answer: Answer)...) -> [UInt8]
    {
        blocks.seal(
            Batch.encode(
                answers.map { answer in
                    Transmission(
                        correlationID: answer.correlationID, entityID: answer.entityID,
                        body: answer.answer.encoded(version: version)
                    ).encoded(version: version)
                }))
    }
}

extension ClientSession {
    fileprivate mutating func nextBlock() throws -> [UInt8] {
        let block = takeBlock()
        return try #require(block)
    }
}

/// The client's session.
@Suite struct SessionTests {
    private let start = Duration.seconds(1000)

    private func connected(version: UInt16 = 17) throws -> (session: ClientSession, server: ScriptedServer) {
        let secret = try Known.agreement(3).wipedSecret(with: Known.agreement(4).publicKey)
        let keys = SessionKeys(
            version: version, sessionID: Known.sessionID, serverKey: try Known.agreement(4).publicKey,
            blocks: BlockCipher(secret: secret, sessionID: Known.sessionID, side: .client))
        let server = ScriptedServer(
            blocks: BlockCipher(secret: secret, sessionID: Known.sessionID, side: .server), version: version)
        return (ClientSession(keys: keys, now: start, random: SeededBytes(1)), server)
    }

    private var recipient: CommandKey {
        get throws { .signing(try Known.signing(5)) }
    }

    @Test func answersMayComeInAnyOrder() throws {
        var (session, server) = try connected()
        let queue = Command.NewQueue(
            recipientKey: try recipient.publicKey, boxKey: try Known.agreement(1).publicKey, mode: .messaging)
        let create = try session.submit(ClientRequest(.new(queue), key: recipient), now: start)
        let delete = try session.submit(
            ClientRequest(.delete, of: Known.recipientID, key: recipient), now: start)
        let ping = try session.submit(ClientRequest(.ping), now: start)
        let block = try session.nextBlock()
        #expect(session.takeBlock() == nil)
        let requests = try server.read(block)
        #expect(requests.map(\.command) == [.new(queue), .delete, .ping])
        let key = try Known.signing(5).verifyingKey
        #expect(
            key.isValid(
                requests[1].transmission.authorization,
                for: requests[1].transmission.signedBytes(sessionID: Known.sessionID)))
        #expect(requests[2].transmission.authorization.isEmpty)
        let ids = Answer.QueueIDs(
            recipientID: Known.recipientID, senderID: Known.senderID,
            boxKey: try Known.agreement(4).publicKey,
            mode: .messaging)
        let answers = server.block(
            (requests[2].transmission.correlationID, [], .pong),
            (requests[0].transmission.correlationID, [], .created(ids)),
            (requests[1].transmission.correlationID, Known.recipientID, .error(.authorization)))
        #expect(
            session.receive(answers, now: start) == [
                .answered(ping, .pong), .answered(create, .created(ids)),
                .answered(delete, .error(.authorization)),
            ])
    }

    @Test func aMessageAnswersAnAcknowledgement() throws {
        var (session, server) = try connected()
        let subscribe = try session.submit(
            ClientRequest(.subscribe, of: Known.recipientID, key: recipient), now: start)
        let acknowledge = try session.submit(
            ClientRequest(.acknowledge(messageID: Known.messageID), of: Known.recipientID, key: recipient),
            now: start)
        let requests = try server.read(session.nextBlock())
        let message = Answer.message(id: Known.messageID, body: [1, 2, 3])
        let delivered = ClientEvent.delivered(
            recipientID: Known.recipientID, messageID: Known.messageID, body: [1, 2, 3])
        // Unsolicited before the answer, then in place of both answers.
        let block = server.block(
            ([], Known.recipientID, message),
            (requests[0].transmission.correlationID, Known.recipientID, message),
            (requests[1].transmission.correlationID, Known.recipientID, message))
        #expect(
            session.receive(block, now: start) == [
                delivered, .answered(subscribe, .subscribed), delivered, .answered(acknowledge, .ok),
                delivered,
            ])
    }

    @Test func unsolicitedTransmissionsBecomeEvents() throws {
        var (session, server) = try connected()
        let block = server.block(
            ([], Known.recipientID, .end), ([], Known.senderID, .deleted), ([], [], .error(.block)),
            ([], [], .unknown(word: "LATER")), (Known.correlationID, [], .ok))
        #expect(
            session.receive(block, now: start) == [
                .ended(recipientID: Known.recipientID), .deleted(recipientID: Known.senderID),
                .complaint(.block),
            ])
    }

    @Test func aWrongAnswerFailsOnlyItsRequest() throws {
        var (session, server) = try connected()
        let ping = try session.submit(ClientRequest(.ping), now: start)
        let delete = try session.submit(
            ClientRequest(.delete, of: Known.recipientID, key: recipient), now: start)
        let send = try session.submit(
            ClientRequest(.send(flags: [], body: [1]), of: Known.senderID, key: recipient), now: start)
        let requests = try server.read(session.nextBlock())
        let block = server.block(
            (requests[0].transmission.correlationID, [], .ok),
            (requests[1].transmission.correlationID, [], .unknown(word: "LATER")),
            (requests[2].transmission.correlationID, Known.senderID, .message(id: [1], body: [])))
        #expect(
            session.receive(block, now: start) == [
                .failed(ping, .malformed), .failed(delete, .malformed), .failed(send, .malformed),
            ])
        _ = try session.submit(ClientRequest(.ping), now: start)
    }

    @Test func requestsFillAsFewBlocksAsPossible() throws {
        var (session, server) = try connected()
        for _ in 0..<300 {
            _ = try session.submit(
                ClientRequest(.subscribe, of: Known.recipientID, key: recipient), now: start)
        }
        var counts: [Int] = []
        while let block = session.takeBlock() {
            #expect(block.count == TransportBlock.size)
            counts.append(try server.read(block).count)
        }
        #expect(counts == [135, 135, 30])
        let long = Command.send(flags: [], body: [UInt8](repeating: 1, count: 16_048))
        _ = try session.submit(ClientRequest(long, of: Known.senderID, key: recipient), now: start)
        _ = try session.submit(ClientRequest(.ping), now: start)
        _ = try session.submit(ClientRequest(long, of: Known.senderID, key: recipient), now: start)
        #expect(try server.read(session.nextBlock()).map(\.command) == [long, .ping])
        #expect(try server.read(session.nextBlock()).map(\.command) == [long])
        let longer = Command.send(flags: [], body: [UInt8](repeating: 1, count: 16_384))
        expect(.tooLong) { try session.submit(ClientRequest(longer, of: Known.senderID), now: start) }
        #expect(session.takeBlock() == nil)
    }

    @Test func anUndecryptableBlockEndsTheConnection() throws {
        var (session, server) = try connected()
        let first = try session.submit(ClientRequest(.ping), now: start)
        let second = try session.submit(ClientRequest(.ping), now: start)
        var block = server.block(([], [], .ok))
        block[77] ^= 1
        #expect(
            session.receive(block, now: start) == [
                .failed(first, .disconnected), .failed(second, .disconnected), .closed(.notAuthentic),
            ])
        #expect(session.receive(server.block(([], [], .ok)), now: start).isEmpty)
        #expect(session.nextDeadline == nil && session.takeBlock() == nil)
        #expect(session.advance(to: start + .seconds(9999)).isEmpty && session.disconnect().isEmpty)
        expect(.disconnected) { try session.submit(ClientRequest(.ping), now: start) }
    }

    @Test(arguments: [[], [0], [1], [1, 0, 9], [2, 0, 0], [1, 0, 1, 5]] as [[UInt8]])
    func malformedContentEndsTheConnection(content: [UInt8]) throws {
        var (session, server) = try connected()
        #expect(session.receive(server.blocks.seal(content), now: start) == [.closed(.malformed)])
    }

    @Test func aBlockOfAnotherLengthEndsTheConnection() throws {
        var (session, _) = try connected()
        #expect(session.receive([1, 2, 3], now: start) == [.closed(.malformed)])
    }

    @Test func overdueRequestsFailAndLateAnswersAreDropped() throws {
        var (session, server) = try connected()
        let slow = try session.submit(ClientRequest(.ping, timeout: .seconds(30)), now: start)
        let quick = try session.submit(
            ClientRequest(.acknowledge(messageID: Known.messageID), of: Known.recipientID, key: recipient),
            now: start)
        let requests = try server.read(session.nextBlock())
        #expect(session.nextDeadline == start + .seconds(10))
        #expect(session.advance(to: start + .seconds(9)).isEmpty)
        #expect(session.advance(to: start + .seconds(10)) == [.failed(quick, .timedOut)])
        #expect(session.nextDeadline == start + .seconds(30))
        // Its message is not lost.
        let late = server.block(
            (
                requests[1].transmission.correlationID, Known.recipientID,
                .message(id: Known.messageID, body: [7])
            ))
        #expect(
            session.receive(late, now: start + .seconds(11)) == [
                .delivered(recipientID: Known.recipientID, messageID: Known.messageID, body: [7])
            ])
        #expect(session.advance(to: start + .seconds(30)) == [.failed(slow, .timedOut)])
        #expect(session.nextDeadline == nil, "without a subscription nothing has to be kept alive")
    }

    @Test func aSilentServerIsPingedAndThenDropped() throws {
        var (session, server) = try connected()
        _ = try session.submit(ClientRequest(.subscribe, of: Known.recipientID, key: recipient), now: start)
        let request = try server.only(session.nextBlock())
        _ = session.receive(
            server.block((request.transmission.correlationID, Known.recipientID, .subscribed)), now: start)
        var (events, pings): ([ClientEvent], Int) = ([], 0)
        while let deadline = session.nextDeadline {
            events += session.advance(to: deadline)
            while let block = session.takeBlock() {
                #expect(try server.read(block).map(\.command) == [.ping])
                pings += 1
            }
            #expect(deadline <= start + .seconds(1000))
        }
        #expect(events == [.closed(.timedOut)])
        #expect(pings == 3)
    }

    @Test func anAnsweringServerIsKept() throws {
        var (session, server) = try connected()
        _ = try session.submit(ClientRequest(.subscribe, of: Known.recipientID, key: recipient), now: start)
        var request = try server.only(session.nextBlock())
        _ = session.receive(
            server.block((request.transmission.correlationID, Known.recipientID, .ok)), now: start)
        for round in 1...5 {
            let deadline = try #require(session.nextDeadline)
            #expect(deadline == start + .seconds(600 * round))
            #expect(session.advance(to: deadline).isEmpty)
            request = try server.only(session.nextBlock())
            #expect(
                session.receive(server.block((request.transmission.correlationID, [], .pong)), now: deadline)
                    .isEmpty)
        }
    }

    @Test(arguments: [UInt16(15), 16, 17]) func everyVersionWorks(version: UInt16) throws {
        var (session, server) = try connected(version: version)
        let queue = Command.NewQueue(
            recipientKey: try recipient.publicKey, boxKey: try Known.agreement(1).publicKey,
            password: Array("secret".utf8), subscribes: false, mode: .contact,
            link: Command.NewLink(
                id: Known.recipientID, senderID: Command.senderID(of: Known.correlationID),
                data: LinkBlobs(fixed: [1, 2], user: [3])))
        let id = try session.submit(
            ClientRequest(.new(queue), key: recipient, correlationID: Known.correlationID), now: start)
        let request = try server.only(session.nextBlock())
        #expect(request.command == .new(queue))
        let ids = Answer.QueueIDs(
            recipientID: Known.recipientID, senderID: Known.senderID,
            boxKey: try Known.agreement(4).publicKey,
            mode: .contact, linkID: Known.recipientID)
        let block = server.block((Known.correlationID, [], .created(ids)))
        #expect(session.receive(block, now: start) == [.answered(id, .created(ids))])
    }
}
