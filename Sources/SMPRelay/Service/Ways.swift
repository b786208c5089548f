import SMP
import SMPClient

/// The connections to other servers for forwarding, and their clients. Decides which one to close if there are too
/// many. A value without input and output.
///
/// Connections that reached their server are limited separately from those still connecting. The client with most
/// connections loses one first, so no client can displace others by naming unreachable or many servers.
struct Ways {
    struct Way {
        let server: ServerAddress
        /// Separate connections for each server, so that none waits for another.
        let queues: QueueConnections
        /// The latest session with the server, which clients name. nil before it was reached.
        var session: [UInt8]?
        /// The present clients that asked for it.
        var clients: Set<UInt64> = []
        /// The number of unfinished requests.
        var underWay = 0
    }

    /// In the order of their use.
    private(set) var ways: [Way] = []
    /// Applies separately to reached servers and to connecting ones.
    private let limit: Int
    private let limitOfClient: Int

    init(limit: Int, limitOfClient: Int) {
        self.limit = limit
        self.limitOfClient = limitOfClient
    }

    /// Whether a connection still exists, and the connection to close in its favour.
    struct Outcome {
        let isThere: Bool
        var dropped: QueueConnections?
    }

    // MARK: Making them

    /// Adds a client's request for a server, unfinished until `opened` or `failed`. Returns the existing or new
    /// connection.
    mutating func begin(
        _ server: ServerAddress, of client: UInt64, make: () -> QueueConnections
    ) -> (queues: QueueConnections, outcome: Outcome) {
        let index = ways.firstIndex { $0.server == server }
        var way = index.map { ways.remove(at: $0) } ?? Way(server: server, queues: make())
        way.clients.insert(client)
        way.underWay += 1
        ways.append(way)
        if count(of: client) > limitOfClient,
            let oldest = ways.firstIndex(where: { $0.clients.contains(client) })
        {
            ways[oldest].clients.remove(client)
        }
        return (way.queues, index == nil ? makeRoom(for: way.queues) : Outcome(isThere: true))
    }

    /// Records that the server was reached.
    mutating func opened(_ queues: QueueConnections, session: [UInt8]) -> Outcome {
        guard let index = ended(queues) else { return Outcome(isThere: false) }
        let isNew = ways[index].session == nil
        ways[index].session = session
        return isNew ? makeRoom(for: queues) : Outcome(isThere: true)
    }

    /// Records a failure. Returns the connection to close, if no other request uses it.
    mutating func failed(_ queues: QueueConnections) -> QueueConnections? {
        guard let index = ended(queues), ways[index].underWay == 0 else { return nil }
        return ways.remove(at: index).queues
    }

    // MARK: Using them

    /// Returns the connection of a session for one request, unfinished until `ended`.
    mutating func use(_ session: [UInt8]) -> Way? {
        guard let index = ways.firstIndex(where: { $0.session == session }) else { return nil }
        ways[index].underWay += 1
        ways.append(ways.remove(at: index))
        return ways.last
    }

    /// Ends a request. Returns the index of its connection, if it still exists.
    @discardableResult
    mutating func ended(_ queues: QueueConnections) -> Int? {
        guard let index = ways.firstIndex(where: { $0.queues === queues }) else { return nil }
        ways[index].underWay -= 1
        return index
    }

    /// Removes a client that has gone.
    mutating func release(_ client: UInt64) {
        for index in ways.indices { ways[index].clients.remove(client) }
    }

    // MARK: Too many

    private func count(of client: UInt64) -> Int { ways.count { $0.clients.contains(client) } }

    /// Drops a connection if there is one too many among the reached or among the connecting ones. The client with most
    /// connections loses its least recently used one. A connection with unfinished requests goes only after the others
    /// of its clients, and only if they have more than the new one's client. The dropped connection may be the new one.
    private mutating func makeRoom(for newest: QueueConnections) -> Outcome {
        guard let new = ways.first(where: { $0.queues === newest }) else { return Outcome(isThere: false) }
        let alike = ways.filter { ($0.session == nil) == (new.session == nil) }
        guard alike.count > limit else { return Outcome(isThere: true) }
        // A connection counts for its client with the fewest; one without clients goes first.
        func weight(_ way: Way) -> Int {
            way.clients.map { client in alike.count { $0.clients.contains(client) } }.min() ?? .max
        }
        func isBusy(_ way: Way) -> Bool { way.session != nil && way.underWay > 0 }
        func order(_ way: Way) -> (Int, Int) { (weight(way), isBusy(way) ? 0 : 1) }
        let others = alike.filter { $0.queues !== newest && (!isBusy($0) || weight($0) > weight(new)) }
        var dropped = new
        for way in others.reversed() where order(way) >= order(dropped) { dropped = way }
        ways.removeAll { $0.queues === dropped.queues }
        return Outcome(isThere: dropped.queues !== newest, dropped: dropped.queues)
    }
}
