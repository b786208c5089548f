import Base
import TestSupport
import Testing

@testable import Cryptography
@testable import SMP

/// Compares requests, answers, refusals, silence and time in random order with a table of requests.
@Suite("A connection under random events")
struct SessionModelTests {
    private struct Model {
        struct Request {
            let deadline: Duration
            let command: Command
            let entityID: [UInt8]
        }

        /// Pending requests by id.
        var open: [ClientRequest.ID: Request] = [:]
        /// The ids of completed requests.
        var ended: Set<ClientRequest.ID> = []
        var isClosed = false

        mutating func end(_ id: ClientRequest.ID) {
            #expect(open.removeValue(forKey: id) != nil, "an answer without a request")
            #expect(ended.insert(id).inserted, "a second answer")
        }
    }

    /// Returns an answer of a server and whether it completes the command.
    private static func answers(_ command: Command) -> [(Answer, isFitting: Bool)] {
        switch command {
        case .subscribe: [(.subscribed, true), (.ok, true), (.error(.authorization), true), (.pong, false)]
        case .ping: [(.pong, true), (.error(.session), true), (.ok, false), (.subscribed, false)]
        case .acknowledge: [(.ok, true), (.error(.noMessage), true), (.pong, false)]
        default: [(.ok, true), (.error(.quota), true), (.end, false), (.information([]), false)]
        }
    }

    private static func command(_ generator: inout SeededGenerator) -> Command {
        let body = [UInt8](repeating: 1, count: Int.random(in: 0...9000, using: &generator))
        return [
            .subscribe, .ping, .acknowledge(messageID: Known.messageID), .send(flags: [], body: body),
            .delete,
            .suspend,
        ].randomElement(using: &generator) ?? .ping
    }

    @Test(
        "every request ends once, at its deadline at the latest",
        arguments: 1...12 as ClosedRange<UInt64>)
    func everyRequestEndsOnce(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        var conversation = try Conversation(seed: seed)
        var model = Model()
        var now = Conversation.start
        var arrived: [ServerSession.Received] = []
        for _ in 0..<400 where !model.isClosed {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0...3:
                let command = Self.command(&generator)
                let timeout = Duration.seconds(Int.random(in: 1...40, using: &generator))
                let entityID = [UInt8.random(in: 0...255, using: &generator)]
                let id = try conversation.client.submit(
                    ClientRequest(command, of: entityID, timeout: timeout), now: now)
                model.open[id] = Model.Request(deadline: now + timeout, command: command, entityID: entityID)
            case 4: arrived += try conversation.received()
            case 5...7:
                guard let place = arrived.indices.randomElement(using: &generator) else { continue }
                let request = arrived.remove(at: place)
                guard case .success(let command) = request.command,
                    let (answer, _) = Self.answers(command).randomElement(using: &generator)
                else { continue }
                let copies = Int.random(in: 1...2, using: &generator)
                for _ in 0..<copies {
                    conversation.server.submit(
                        answer, correlationID: request.transmission.correlationID,
                        entityID: request.transmission.entityID)
                }
                Self.note(conversation.events(at: now), &model)
            default:
                now += .milliseconds(Int.random(in: 0...15_000, using: &generator))
                Self.note(conversation.client.advance(to: now), &model)
                #expect(
                    model.open.values.allSatisfy { $0.deadline > now }, "nobody waits beyond the deadline")
            }
            Self.check(conversation.client, model, now)
        }
        let isOpen = !model.isClosed
        Self.note(conversation.client.disconnect(), &model)
        #expect(model.open.isEmpty && model.isClosed)
        #expect(conversation.client.disconnect().isEmpty && conversation.client.takeBlock() == nil)
        #expect(isOpen || conversation.client.nextDeadline == nil)
    }

    private static func note(_ events: [ClientEvent], _ model: inout Model) {
        for event in events {
            #expect(!model.isClosed, "something came after the end")
            switch event {
            case .answered(let id, let answer):
                let request = model.open[id]
                let fits = request.map { request in
                    Self.answers(request.command).contains { known, isFitting in
                        isFitting && (known == answer || known == .ok && answer == .subscribed)
                    }
                }
                #expect(fits == true, "\(answer)")
                model.end(id)
            case .failed(let id, let code):
                #expect([.timedOut, .malformed, .disconnected].contains(code))
                model.end(id)
            case .closed: model.isClosed = true
            case .complaint, .ended, .deleted, .delivered: break
            }
        }
    }

    /// The next deadline is never later than the first request's.
    private static func check(_ client: ClientSession, _ model: Model, _ now: Duration) {
        guard !model.isClosed else { return #expect(client.nextDeadline == nil) }
        guard let first = model.open.values.map(\.deadline).min() else { return }
        let next = client.nextDeadline
        #expect(next.map { $0 <= first } == true)
    }

    @Test("each command accepts only its own answers and errors")
    func fitting() throws {
        let answers = try Answer.all() + [.subscribed, .unknown(word: "LATER")]
        for command in try Command.all() {
            for answer in answers {
                let expected: Bool =
                    switch (command, answer) {
                    case (_, .error): true
                    case (.new, .created), (.queueInformation, .information), (.ping, .pong),
                        (.proxy, .proxyOpened), (.proxyForward, .forwarded), (.relayForward, .handedOn),
                        (.linkKey, .link), (.linkGet, .link), (.subscribe, .subscribed),
                        (.subscribe, .ok):
                        true
                    case (.secure, .ok), (.acknowledge, .ok), (.suspend, .ok), (.delete, .ok),
                        (.linkSet, .ok),
                        (.linkDelete, .ok), (.senderKey, .ok), (.send, .ok):
                        true
                    default: false
                    }
                #expect((command.fitting(answer) != nil) == expected, "\(command) \(answer)")
            }
        }
        #expect(Command.subscribe.fitting(.ok) == .subscribed, "as older servers say it")
    }

    @Test(
        "three lost answers and 15 silent minutes end a connection"
    )
    func silence() throws {
        var conversation = try Conversation()
        let start = Conversation.start
        func ask(_ at: Duration) throws {
            _ = try conversation.client.submit(ClientRequest(.ping, timeout: .seconds(1)), now: at)
            _ = try conversation.received()
        }
        for second in 0..<3 {
            try ask(start + .seconds(second * 10))
            #expect(conversation.client.advance(to: start + .seconds(second * 10 + 5)).count == 1)
        }
        #expect(conversation.client.nextDeadline == start + .seconds(900))
        #expect(conversation.client.advance(to: start + .seconds(899)).isEmpty)
        var kept = conversation
        // Any transmission.
        kept.server.submit(.deleted, correlationID: [], entityID: [1])
        #expect(kept.events(at: start + .seconds(899)) == [.deleted(recipientID: [1])])
        #expect(kept.client.advance(to: start + .seconds(5000)).isEmpty && kept.client.nextDeadline == nil)
        #expect(conversation.client.advance(to: start + .seconds(900)) == [.closed(.timedOut)])
        #expect(conversation.client.nextDeadline == nil)
    }

    @Test("two unanswered requests never end a connection")
    func twoAreNotEnough() throws {
        var conversation = try Conversation()
        for second in [0, 10] {
            let now = Conversation.start + .seconds(second)
            _ = try conversation.client.submit(ClientRequest(.ping, timeout: .seconds(1)), now: now)
            #expect(conversation.client.advance(to: now + .seconds(2)).count == 1)
        }
        #expect(conversation.client.nextDeadline == nil)
        #expect(conversation.client.advance(to: Conversation.start + .seconds(100_000)).isEmpty)
    }

    @Test("a caller's id is used, and never twice")
    func correlationIDs() throws {
        var conversation = try Conversation()
        let chosen = Known.correlationID
        _ = try conversation.client.submit(
            ClientRequest(.ping, correlationID: chosen), now: Conversation.start)
        for _ in 0..<100 { _ = try conversation.client.submit(ClientRequest(.ping), now: Conversation.start) }
        let ids = try conversation.received().map(\.transmission.correlationID)
        #expect(ids.first == chosen && Set(ids).count == 101)
    }
}
