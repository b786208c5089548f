import Base
import Cryptography
import SMP
import Store
import TestSupport
import Testing

@testable import Agent

/// A step is stored with all its effects, or not at all.
@Suite struct StepTests {
    private let folder: TemporaryFolder
    private let store: AgentStore
    private let clock = ManualClock()
    private struct Undone: Error {}

    init() throws {
        folder = try TemporaryFolder()
        store = try AgentStore(
            path: folder.path("connections.db"), key: nil, tools: MachineSide.tools(seed: 1), clock: clock)
    }

    private func insert(
        _ phase: ConnectionCondition.Phase, linkHash: [UInt8]? = nil,
        _ body: (inout ConnectionState) throws -> Void = { _ in }
    ) throws -> ConnectionID {
        var state = ConnectionState(
            phase: phase, information: [],
            receiving: [
                .fresh(server: try Known.server(1), mode: .messaging, random: SeededBytes(2))
            ])
        state.receiving[0].status = .active
        try body(&state)
        return try store.change { try $0.insert(state, linkHash: linkHash) }.0
    }

    private func send(_ kind: Outgoing.Kind, isBody: Bool = false, to id: ConnectionID) throws -> Int64 {
        let item = Outgoing(kind: kind, content: MessageContent.body([1]).encoded, notifies: false)
        return try store.change { try $0.send(item, isBody: isBody, to: id) }.0
    }

    private func events() throws -> [AgentEvent.Content] {
        try store.read { try $0.events.events(after: 0, limit: 100).map(\.content) }
    }

    @Test func keysOfUnusedLinksExpire() throws {
        func seed(_ link: UInt8, fresh: UInt8) throws -> [UInt8] {
            try store.change { try $0.links.seed(ofLink: [link], fresh: [fresh], now: $0.now) }.0
        }
        for link in UInt8(1)...3 { _ = try seed(link, fresh: 1) }
        _ = try insert(.failed, linkHash: [2])
        clock.advance(by: .seconds(20 * 86_400))
        #expect(try seed(3, fresh: 2) == [1])
        clock.advance(by: .seconds(20 * 86_400))
        _ = try store.change { try $0.goOn() }
        // The second belongs to a connection, and the third was used lately.
        #expect(try [1, 2, 3].map { try seed($0, fresh: 2) } == [[2], [1], [1]])
    }

    @Test func stepStoresEffectsAndReportsOutcome() throws {
        let id = try insert(.connected)
        let (_, outcome) = try store.change { tables in
            try tables.step(id) { machine in
                machine.emit(.tell(.connected(information: [1])))
                machine.send(.hello, isUrgent: true)
                machine.emit(.tryAgain)
                machine.state.receiving[0].status = .suspending
            }
        }
        #expect(outcome.hasEvents && outcome.outgoing == [id] && outcome.tryAgain == [id])
        #expect(try outcome.servers == [Known.server(1)] && outcome.queues.count == 1)
        #expect(try events() == [.connected(information: [1])])
        let head = try store.read { try $0.outgoing.head(of: id) }
        #expect(head?.content == MessageContent.hello.encoded && head?.isUrgent == true)
        let state = try store.read { try $0.connections.load(id) }
        #expect(state.receiving[0].status == .suspending && outcome.queues == [state.receiving[0].id])
    }

    /// A server may report a full queue any number of times.
    @Test func equalAgentMessagesAreQueuedOnce() throws {
        let id = try insert(.connected)
        let location = QueueLocation(server: try Known.server(1), senderID: [1])
        for _ in 0..<20 {
            _ = try store.change { try $0.step(id) { $0.send(.queueContinue(location), isUrgent: false) } }
        }
        func waiting() throws -> [StoredOutgoing] {
            try store.read {
                try $0.outgoing.waiting(since: ElapsedTime(nanoseconds: .max), of: id)
            }
        }
        #expect(try waiting().map(\.content) == [MessageContent.queueContinue(location).encoded])
        // Application messages are not deduplicated.
        for _ in 0..<2 { _ = try send(.message, isBody: true, to: id) }
        #expect(try waiting().count == 3)
    }

    @Test func stepWithoutChangeHasNoOutcome() throws {
        let id = try insert(.connected)
        let (_, outcome) = try store.change { try $0.step(id) { _ in } }
        #expect(!outcome.hasEvents && outcome.outgoing.isEmpty && outcome.tryAgain.isEmpty)
        #expect(outcome.queues.isEmpty && outcome.servers.isEmpty)
    }

    @Test func failedStepIsRolledBack() throws {
        let id = try insert(.connected)
        #expect(throws: Undone.self) {
            try store.change { tables in
                try tables.step(id) { machine in
                    machine.emit(.tell(.deleted))
                    machine.send(.hello)
                    machine.state.information = [9]
                }
                throw Undone()
            }
        }
        #expect(try events().isEmpty && store.read { try $0.outgoing.head(of: id) } == nil)
        #expect(try store.read { try $0.connections.load(id) }.information.isEmpty)
    }

    @Test func waitingTimeStartsWhenConnected() throws {
        let id = try insert(.confirming, linkHash: [4])
        _ = try store.change { tables in
            try tables.links.seed(ofLink: [4], fresh: [7], now: tables.now)
        }
        let number = try send(.message, isBody: true, to: id)
        let introduction = try send(.confirmation, to: id)
        #expect(try store.read { try $0.outgoing.item(number) }?.waitsSince == nil)
        #expect(try store.read { try $0.outgoing.item(introduction) }?.waitsSince == store.read { $0.now })
        clock.advance(by: .seconds(1000))
        _ = try store.change { try $0.step(id) { $0.sent(.confirmation) } }
        #expect(try store.read { try $0.outgoing.item(number) }?.waitsSince == store.read { $0.now })
        // The link's key is used up; the next opener gets another.
        let seed = try store.change { try $0.links.seed(ofLink: [4], fresh: [8], now: $0.now) }.0
        #expect(seed == [8])
        let later = try send(.message, isBody: true, to: id)
        #expect(try store.read { try $0.outgoing.item(later) }?.waitsSince == store.read { $0.now })
    }

    @Test func linkKeyIsReusedUntilConnected() throws {
        let seeds = try store.change { tables in
            try ([[1], [2]] as [[UInt8]]).map {
                try tables.links.seed(ofLink: [4], fresh: $0, now: tables.now)
            }
        }.0
        #expect(seeds == [[1], [1]])
    }

    @Test func endReportsEachWaitingMessage() throws {
        let id = try insert(.joining)
        let other = try insert(.joining)
        let bodies = try (0..<3).map { _ in try send(.message, isBody: true, to: id) }
        let untouched = try send(.message, isBody: true, to: other)
        _ = try send(.confirmation, to: id)
        _ = try store.change { try $0.step(id) { $0.fail(.refused) } }
        #expect(
            try events() == bodies.map { .messageFailed(message: $0, .refused) } + [
                .connectionFailed(.refused)
            ])
        #expect(try store.read { try $0.outgoing.head(of: id) } == nil)
        #expect(try store.read { try $0.outgoing.head(of: other) }?.number == untouched)
    }

    @Test func ciphertextIsRememberedThreeWeeksPerConnection() throws {
        let (id, other) = (try insert(.connected), try insert(.connected))
        let hash = [UInt8](repeating: 5, count: 32)
        for _ in 0..<2 { _ = try store.change { try $0.step(id) { $0.emit(.remember(hash: hash)) } } }
        #expect(try store.read { try $0.isKnown(hash, of: id) })
        #expect(try !store.read { try $0.isKnown(hash, of: other) })
        func rememberAnother() throws {
            let another = SystemRandomSource().bytes(32)
            _ = try store.change { try $0.step(other) { $0.emit(.remember(hash: another)) } }
        }
        clock.advance(by: .seconds(21 * 86_400))
        try rememberAnother()
        #expect(try store.read { try $0.isKnown(hash, of: id) })
        clock.advance(by: .seconds(1))
        try rememberAnother()
        #expect(try !store.read { try $0.isKnown(hash, of: id) })
    }

    @Test func earlyReceiptCountsAsReply() throws {
        let id = try insert(.connected)
        let number = try send(.message, isBody: true, to: id)
        let prepared = PreparedEnvelope(number: 3, hash: [1], envelope: [2], nonce: [3])
        _ = try store.change { try $0.outgoing.setPrepared(number, prepared, now: $0.now) }
        let receipt = MessageContent.Receipt(number: 3, hash: [1])
        for _ in 0..<2 { _ = try store.change { try $0.step(id) { $0.emit(.delivered(receipt)) } } }
        #expect(try events() == [.sent(message: number), .delivered(message: number)])
        #expect(try store.read { try $0.outgoing.item(number) } == nil)
    }

    @Test func keyChangeSettlesUncertainMessages() throws {
        let id = try insert(.connected)
        let numbers = try (0..<4).map { _ in try send(.message, isBody: true, to: id) }
        _ = try store.change { tables in
            for (place, number) in numbers.enumerated() {
                let prepared = PreparedEnvelope(
                    number: Int64(place + 5), hash: [UInt8(place)], envelope: [1], nonce: [2])
                try tables.outgoing.setPrepared(number, prepared, now: tables.now)
            }
            // Accepted by their server: one received by the peer, and one lost.
            for place in [0, 3] {
                let item = try #require(try tables.outgoing.item(numbers[place]))
                try tables.outgoing.remove(item, sentTo: id, now: tables.now)
            }
            try tables.step(id) { $0.emit(.encryptAgain) }
            try tables.step(id) { $0.emit(.lost(after: 6)) }
        }
        #expect(
            try events() == [.sent(message: numbers[1]), .messageFailed(message: numbers[3], .unreadable)])
        let left = try #require(try store.read { try $0.outgoing.head(of: id) })
        #expect(left.number == numbers[2] && left.prepared == nil && !left.isUncertain)
    }

    @Test func unfinishedWorkResumesAtStart() throws {
        let quiet = try insert(.connected)
        let writing = try insert(.connected)
        _ = try send(.message, to: writing)
        let deleting = try insert(.deleting)
        let making = try insert(.joining) { $0.receiving[0].status = .creating }
        let (_, outcome) = try store.change { try $0.goOn() }
        #expect(outcome.hasEvents && outcome.outgoing == [writing, deleting])
        let queues = try store.read { try $0.queues.receiving(of: making).map(\.id) }
        #expect(outcome.queues == Set(queues))
        #expect(try outcome.servers == [Known.server(1)] && !outcome.outgoing.contains(quiet))
    }

    @Test func linkIgnoresFailedConnection() throws {
        for (place, phase) in [
            ConnectionCondition.Phase.inviting, .requesting, .joining, .confirming, .connected, .failed,
            .deleting,
        ].enumerated() {
            let hash = [UInt8(place)]
            let id = try insert(phase, linkHash: hash)
            let isOver = phase == .failed || phase == .deleting
            #expect(try store.read { try $0.joined(with: hash) } == (isOver ? nil : id), "\(phase)")
        }
        #expect(try store.read { try $0.joined(with: [99]) } == nil)
    }

    @Test func deletedEventOutlivesConnection() throws {
        let id = try insert(.deleting)
        let (_, outcome) = try store.change { try $0.removeConnection(id) }
        #expect(outcome.hasEvents)
        #expect(try !store.read { try $0.connections.exists(id) })
        let told = try store.read { try $0.events.events(after: 0, limit: 9) }
        #expect(told.map(\.content) == [.deleted] && told[0].connection == id)
        let error = #expect(throws: AgentError.self) { try store.change { try $0.step(id) { _ in } } }
        #expect(error?.code == .noSuchConnection)
    }
}
