import Base
import Store
import TestSupport
import Testing

@testable import Agent

/// Random histories of outgoing messages over three connections, compared with arrays.
@Suite struct OutgoingModelTests {
    @Test(arguments: UInt64(1)...10) func tableMatchesModel(seed: UInt64) throws {
        var history = try OutgoingHistory(seed: seed)
        for _ in 0..<400 {
            try history.step()
            try history.compare()
        }
        // Check that the history was not empty.
        #expect(history.appended > 80 && history.sent > 20 && history.confirmed > 0)
    }
}

private struct OutgoingHistory {
    private struct Item {
        var number: Int64
        var connection: ConnectionID
        var kind: Outgoing.Kind
        var content: [UInt8]
        var notifies: Bool
        var isUrgent: Bool
        var isBody: Bool
        /// Kept after its envelope was discarded: delivery is unknown.
        var sentAs: (number: Int64, hash: [UInt8])?
        var envelope: (bytes: [UInt8], nonce: [UInt8])?
        var waitsSince: ElapsedTime?
        var fullSince: ElapsedTime?
    }

    private struct Sent {
        var connection: ConnectionID
        var messageNumber: Int64
        var number: Int64
        var hash: [UInt8]
        var time: ElapsedTime
    }

    private struct Named {
        var connection: ConnectionID
        var identifier: [UInt8]
        var number: Int64
        var time: ElapsedTime
    }

    private let folder: TemporaryFolder
    private let database: Database
    private let connections: [ConnectionID]
    private var random: SeededGenerator
    private var now = ElapsedTime(seconds: 1_000_000)
    private var nextMessage: Int64 = 0

    private var items: [Item] = []
    private var unconfirmed: [Sent] = []
    private var identifiers: [Named] = []
    private(set) var (appended, sent, confirmed) = (0, 0, 0)

    init(seed: UInt64) throws {
        folder = try TemporaryFolder()
        database = try Database(
            path: folder.path("connections.db"), migrations: AgentSchema.migrations, durability: .eventual)
        random = SeededGenerator(state: seed)
        connections = try database.transaction { connection in
            try (0..<3).map { _ in
                try ConnectionTable(connection).insert(
                    ConnectionState(phase: .connected, information: [], receiving: []))
            }
        }
    }

    private func change<Result>(_ body: (OutgoingTable) throws -> Result) throws -> Result {
        try database.transaction { try body(OutgoingTable($0)) }
    }

    private mutating func chance(_ one: Int, of many: Int) -> Bool {
        Int.random(in: 0..<many, using: &random) < one
    }

    private static func precedes(_ one: Item, _ other: Item) -> Bool {
        one.isUrgent == other.isUrgent ? one.number < other.number : one.isUrgent
    }

    private func queue(of id: ConnectionID) -> [Item] {
        items.filter { $0.connection == id }.sorted(by: Self.precedes)
    }

    // MARK: - Steps

    mutating func step() throws {
        let id = try #require(connections.randomElement(using: &random))
        now = now.advanced(by: .seconds(Int.random(in: 0...90_000, using: &random)))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<35: try append(to: id)
        case 35..<55: try prepareHead(of: id)
        case 55..<75: try send(from: id)
        case 75..<80: try confirm(in: id)
        case 80..<82: try encryptAgain(id)
        case 82..<83: try replaceKeys(of: id)
        case 83..<87: try settle(in: id)
        case 87..<89: try lose(in: id)
        case 89..<92: try fill(id)
        case 92..<94: try startWaitingTime(id)
        case 94..<96: try introduce(id)
        case 96..<97: try removeAll(of: id)
        default: try name(in: id)
        }
    }

    private mutating func append(to id: ConnectionID) throws {
        let kind =
            chance(7, of: 10) ? .message : Outgoing.Kind.allCases.randomElement(using: &random) ?? .keys
        let item = Outgoing(
            kind: kind, content: [UInt8](repeating: UInt8(appended % 256), count: appended % 5 + 1),
            notifies: chance(1, of: 2), isUrgent: chance(1, of: 5))
        let isBody = kind == .message && chance(3, of: 4)
        let since = chance(3, of: 4) ? now : nil
        let number = try change { try $0.append(item, isBody: isBody, to: id, since: since) }
        #expect(number > (items.map(\.number).max() ?? 0))
        items.append(
            Item(
                number: number, connection: id, kind: kind, content: item.content, notifies: item.notifies,
                isUrgent: item.isUrgent, isBody: isBody, waitsSince: since))
        appended += 1
    }

    private mutating func prepareHead(of id: ConnectionID) throws {
        guard let head = queue(of: id).first(where: { $0.envelope == nil }),
            let place = items.firstIndex(where: { $0.number == head.number })
        else { return }
        nextMessage += 1
        let prepared = PreparedEnvelope(
            number: nextMessage, hash: [1, UInt8(nextMessage % 256)],
            envelope: [2, UInt8(nextMessage % 256)],
            nonce: [3, UInt8(nextMessage % 256)])
        let time = now
        try change { try $0.setPrepared(head.number, prepared, now: time) }
        items[place].sentAs = (prepared.number, prepared.hash)
        items[place].envelope = (prepared.envelope, prepared.nonce)
        items[place].waitsSince = items[place].waitsSince ?? now
    }

    private mutating func send(from id: ConnectionID) throws {
        guard let head = queue(of: id).first,
            let place = items.firstIndex(where: { $0.number == head.number })
        else { return }
        let time = now
        try change { try $0.remove(try #require(try $0.item(head.number)), sentTo: id, now: time) }
        items.remove(at: place)
        if head.isBody, let sentAs = head.sentAs {
            unconfirmed.append(
                Sent(
                    connection: id, messageNumber: sentAs.number, number: head.number, hash: sentAs.hash,
                    time: now))
        }
        unconfirmed.removeAll { $0.time < now.advanced(by: .seconds(-30 * 86_400)) }
        sent += 1
    }

    private mutating func confirm(in id: ConnectionID) throws {
        guard let known = unconfirmed.randomElement(using: &random) else { return }
        // A receipt of another connection or with another hash is ignored.
        let hash = chance(1, of: 4) ? [9] : known.hash
        let receipt = MessageContent.Receipt(number: known.messageNumber, hash: hash)
        let isRight = known.connection == id && hash == known.hash
        let found = try change { try $0.confirm(receipt, in: id) }
        #expect(found == (isRight ? known.number : nil))
        guard isRight else { return }
        unconfirmed.removeAll { $0.number == known.number }
        confirmed += 1
        #expect(try change { try $0.confirm(receipt, in: id) } == nil, "a receipt is told of once")
    }

    private mutating func encryptAgain(_ id: ConnectionID) throws {
        try change { try $0.encryptAgain(id) }
        items.removeAll { $0.connection == id && $0.kind == .message && $0.isUrgent }
        for place in items.indices where items[place].connection == id && items[place].kind == .message {
            items[place].envelope = nil
        }
    }

    private mutating func replaceKeys(of id: ConnectionID) throws {
        try change { try $0.removeKeys(of: id) }
        items.removeAll { $0.connection == id && $0.kind == .keys }
    }

    private mutating func settle(in id: ConnectionID) throws {
        let uncertain = items.filter {
            $0.connection == id && $0.kind == .message && $0.envelope == nil && $0.sentAs != nil
        }
        let number = uncertain.compactMap(\.sentAs?.number).randomElement(using: &random) ?? nextMessage / 2
        let came = try change { try $0.settle(until: number, in: id) }
        for place in items.indices
        where items[place].connection == id && items[place].kind == .message && items[place].envelope == nil {
            if let sentAs = items[place].sentAs, sentAs.number > number { items[place].sentAs = nil }
        }
        let expected = uncertain.filter { ($0.sentAs?.number ?? 0) <= number }.map(\.number).sorted()
        #expect(came.map(\.number) == expected && came.allSatisfy(\.isUncertain))
    }

    private mutating func lose(in id: ConnectionID) throws {
        let number = nextMessage - 3
        let lost = try change { try $0.lost(after: number, in: id) }
        let expected = unconfirmed.filter { $0.connection == id && $0.messageNumber > number }
        #expect(lost == expected.map(\.number).sorted())
        unconfirmed.removeAll { $0.connection == id && $0.messageNumber > number }
    }

    private mutating func fill(_ id: ConnectionID) throws {
        guard let head = queue(of: id).first,
            let place = items.firstIndex(where: { $0.number == head.number })
        else { return }
        let time = now
        #expect(try change { try $0.setFull(head.number, now: time) } == (head.fullSince == nil))
        items[place].fullSince = head.fullSince ?? now
    }

    private mutating func startWaitingTime(_ id: ConnectionID) throws {
        let time = now
        try change { try $0.startWaitingTime(id, now: time) }
        for place in items.indices where items[place].connection == id && items[place].waitsSince == nil {
            items[place].waitsSince = now
        }
    }

    private mutating func introduce(_ id: ConnectionID) throws {
        try change { try $0.removeIntroductions(of: id) }
        items.removeAll { $0.connection == id && ($0.kind == .request || $0.kind == .confirmation) }
    }

    private mutating func removeAll(of id: ConnectionID) throws {
        let bodies = try change { try $0.removeAll(of: id) }
        #expect(bodies == items.filter { $0.connection == id && $0.isBody }.map(\.number).sorted())
        items.removeAll { $0.connection == id }
    }

    private mutating func name(in id: ConnectionID) throws {
        let (identifier, time, number): ([UInt8], ElapsedTime, Int64) = (
            [UInt8(identifiers.count)], now, nextMessage
        )
        guard try change({ try $0.number(ofIdentifier: identifier, in: id) }) == nil else { return }
        try change { try $0.remember(identifier: identifier, number: number, in: id, now: time) }
        identifiers.removeAll { $0.time < now.advanced(by: .seconds(-30 * 86_400)) }
        identifiers.append(Named(connection: id, identifier: identifier, number: number, time: now))
    }

    // MARK: - Comparing

    func compare() throws {
        try database.read { connection in
            let table = OutgoingTable(connection)
            for id in connections {
                let queue = queue(of: id)
                try compare(queue.first, table.head(of: id))
                let time = now.advanced(by: .seconds(-86_400))
                let old = queue.filter { $0.waitsSince.map { $0 < time } ?? false }
                #expect(try table.waiting(since: time, of: id).map(\.number) == old.prefix(100).map(\.number))
                for sent in unconfirmed {
                    let receipt = MessageContent.Receipt(number: sent.messageNumber, hash: sent.hash)
                    #expect(try table.unanswered(receipt, in: id) == nil, "it was answered")
                }
                for named in identifiers {
                    let number = try table.number(ofIdentifier: named.identifier, in: id)
                    let expected = identifiers.first {
                        $0.connection == id && $0.identifier == named.identifier
                    }
                    #expect(number == expected?.number)
                }
            }
            for item in items {
                try compare(item, table.item(item.number))
                guard let sentAs = item.sentAs else { continue }
                let receipt = MessageContent.Receipt(number: sentAs.number, hash: sentAs.hash)
                for id in connections {
                    #expect(
                        try table.unanswered(receipt, in: id)?.number
                            == (id == item.connection ? item.number : nil))
                }
            }
            let count = try connection.first("SELECT count(*) AS n FROM outgoing") { $0.integer("n") }
            #expect(count == Int64(items.count))
            let waiting = try ConnectionTable(connection).unfinished()
            #expect(Set(waiting) == Set(items.map(\.connection)) && waiting.count == Set(waiting).count)
        }
    }

    private func compare(_ item: Item?, _ stored: StoredOutgoing?) throws {
        #expect(item?.number == stored?.number)
        guard let item, let stored else { return }
        #expect(stored.kind == item.kind && stored.content == item.content)
        #expect(stored.notifies == item.notifies && stored.isUrgent == item.isUrgent)
        #expect(stored.isBody == item.isBody)
        #expect(stored.waitsSince == item.waitsSince && stored.fullSince == item.fullSince)
        #expect(stored.isUncertain == (item.envelope == nil && item.sentAs != nil))
        #expect(stored.prepared?.envelope == item.envelope?.bytes)
        #expect(stored.prepared?.nonce == item.envelope?.nonce)
        #expect(stored.prepared?.number == (item.envelope == nil ? nil : item.sentAs?.number))
        #expect(stored.prepared?.hash == (item.envelope == nil ? nil : item.sentAs?.hash))
    }
}
