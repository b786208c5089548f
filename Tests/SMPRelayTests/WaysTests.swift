import Network
import SMP
import SMPClient
import Testing

@testable import SMPRelay

@Suite("Connections to other servers")
struct WaysTests {
    private var ways = Ways(limit: 4, limitOfClient: 3)

    private static func server(_ number: UInt16) -> ServerAddress {
        guard
            let server = ServerAddress(
                fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["a.example"], port: number)
        else { fatalError("invalid address") }
        return server
    }

    private mutating func begin(_ server: UInt16, _ client: UInt64) -> (QueueConnections, Ways.Outcome) {
        ways.begin(Self.server(server), of: client) {
            QueueConnections(ConnectionSettings(policy: .everything))
        }
    }

    /// Begins and opens a connection. Returns false if there is no room.
    @discardableResult
    private mutating func open(_ server: UInt16, _ client: UInt64) -> Bool {
        let (queues, outcome) = begin(server, client)
        return outcome.isThere && ways.opened(queues, session: [UInt8(server)]).isThere
    }

    private var servers: [UInt16] { ways.ways.map(\.server.port) }

    private func clients(_ server: UInt16) -> Set<UInt64> {
        ways.ways.first { $0.server.port == server }?.clients ?? []
    }

    @Test("clients share one connection per server")
    mutating func shared() {
        open(1, 10)
        open(2, 11)
        open(1, 12)
        #expect(servers == [2, 1] && clients(1) == [10, 12])
        let (known, unknown) = (ways.use([2]), ways.use([9]))
        #expect(known?.server.port == 2 && unknown == nil)
        #expect(servers == [1, 2])
        ways.release(10)
        #expect(clients(1) == [12] && clients(2) == [11])
    }

    @Test("a client loses its least recently used connection")
    mutating func ofOneClient() {
        for server in 1...3 as ClosedRange<UInt16> { open(server, 10) }
        open(1, 11)
        _ = ways.use([2])
        open(4, 10)
        #expect(clients(3) == [] && clients(1) == [10, 11] && clients(2) == [10] && clients(4) == [10])
        // A connection without clients stays until there are too many.
        open(5, 11)
        #expect(servers.sorted() == [1, 2, 4, 5])
    }

    @Test("failed attempts do not displace reached servers")
    mutating func attempts() {
        for server in 1...4 as ClosedRange<UInt16> { open(server, UInt64(server)) }
        let tried = (5...8 as ClosedRange<UInt16>).map { begin($0, 20 + UInt64($0)).0 }
        #expect(servers.count == 8)
        for queues in tried {
            let closed = ways.failed(queues)
            #expect(closed === queues)
        }
        #expect(servers == [1, 2, 3, 4])
        // A late success of a dropped attempt does not count.
        let outcome = ways.opened(tried[0], session: [5])
        #expect(!outcome.isThere && outcome.dropped == nil && servers.count == 4)
    }

    @Test("a failed connection stays for pending requests")
    mutating func failsForOne() {
        let first = begin(1, 10).0
        let second = begin(1, 11).0
        #expect(first === second)
        let closed = ways.failed(first)
        #expect(closed == nil && servers == [1])
        let outcome = ways.opened(second, session: [1])
        #expect(outcome.isThere && servers == [1])
    }

    @Test("the client with most connections loses one")
    mutating func tooMany() {
        for server in 1...3 as ClosedRange<UInt16> { open(server, 10) }
        open(4, 11)
        let used = ways.use([1])
        let (queues, _) = begin(5, 12)
        let outcome = ways.opened(queues, session: [5])
        #expect(outcome.isThere && outcome.dropped != nil)
        #expect(servers == [3, 4, 1, 5])
        // The client with most loses its own, and the new one if all others are busy.
        open(6, 12)
        #expect(servers == [4, 1, 5, 6])
        for session in [5, 6] as [UInt8] { _ = ways.use([session]) }
        let isThere = open(7, 12)
        #expect(!isThere)
        #expect(servers.sorted() == [1, 4, 5, 6])
        if let used { ways.ended(used.queues) }
    }

    @Test("busy connections go only to clients with fewer")
    mutating func keptBusy() {
        for server in 1...2 as ClosedRange<UInt16> { open(server, 10) }
        for server in 3...4 as ClosedRange<UInt16> { open(server, 11) }
        let used = (1...4 as ClosedRange<UInt8>).compactMap { ways.use([$0]) }
        #expect(used.count == 4)
        let isThere = open(5, 12)
        #expect(isThere && servers == [2, 3, 4, 5])
        // Its request ended before, without effect.
        let place = ways.ended(used[0].queues)
        #expect(place == nil && servers == [2, 3, 4, 5])
        // 11 has two, as 12 would: a busy connection is worth no less than a new one.
        _ = ways.use([5])
        let queues = begin(6, 12).0
        _ = begin(6, 12)
        let outcome = ways.opened(queues, session: [6])
        #expect(!outcome.isThere && servers == [2, 3, 4, 5])
        // An idle connection of the same client goes first.
        ways.ended(used[3].queues)
        open(7, 13)
        #expect(servers == [2, 3, 5, 7])
    }

    @Test("connections without clients go first")
    mutating func gone() {
        open(1, 10)
        open(2, 11)
        open(3, 12)
        open(4, 12)
        ways.release(11)
        open(5, 12)
        #expect(servers == [1, 3, 4, 5])
    }

    @Test("too many attempts drop one of the busiest client")
    mutating func tooManyAttempts() {
        let first = begin(1, 10).0
        for server in 2...4 as ClosedRange<UInt16> { _ = begin(server, 11) }
        let (_, outcome) = begin(5, 12)
        #expect(outcome.isThere && servers == [1, 3, 4, 5])
        let (queues, refused) = begin(6, 11)
        // It already has two of four.
        #expect(refused.isThere && servers == [1, 4, 5, 6])
        let outcomes = [ways.opened(queues, session: [6]), ways.opened(first, session: [1])]
        #expect(outcomes.map(\.isThere) == [true, true])
    }
}
