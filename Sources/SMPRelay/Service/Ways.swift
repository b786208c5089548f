import SMP
import SMPClient

/// The ways to other servers that there are, whose they are, and which go when there are too many: a value without
/// input and output.
///
/// A way counts as one only when its server was reached, and who has many loses them before who has few: nobody takes
/// the ways of others by asking for servers that are none, or for many.
struct Ways {
    struct Way {
        let server: ServerAddress
        /// Its own, so that none waits for another.
        let queues: QueueConnections
        /// The last one with the server, which clients name; nil: it was not reached yet.
        var session: [UInt8]?
        /// Who has asked for it and is still there.
        var clients: Set<UInt64> = []
        /// Requests of which nobody has heard.
        var underWay = 0
    }

    /// In the order of their use.
    private(set) var ways: [Way] = []
    /// Of ways that lead somewhere, and of those that do not yet.
    private let limit: Int
    private let limitOfClient: Int

    init(limit: Int, limitOfClient: Int) {
        self.limit = limit
        self.limitOfClient = limitOfClient
    }

    /// What became of a way, and what is to be closed in its favour.
    struct Outcome {
        let isThere: Bool
        var dropped: QueueConnections?
    }

    // MARK: Making them

    /// A client asks for a way to a server, which is under way until `opened` or `failed`. Answers what reaches the
    /// server: that what was there, or what was made.
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

    /// The server was reached.
    mutating func opened(_ queues: QueueConnections, session: [UInt8]) -> Outcome {
        guard let index = ended(queues) else { return Outcome(isThere: false) }
        let isNew = ways[index].session == nil
        ways[index].session = session
        return isNew ? makeRoom(for: queues) : Outcome(isThere: true)
    }

    /// It was not, so that nothing leads there any more. Answers what is to be closed.
    mutating func failed(_ queues: QueueConnections) -> QueueConnections? {
        guard let index = ended(queues), ways[index].underWay == 0 else { return nil }
        return ways.remove(at: index).queues
    }

    // MARK: Using them

    /// The way of a session, for one request, which is under way until `ended`.
    mutating func use(_ session: [UInt8]) -> Way? {
        guard let index = ways.firstIndex(where: { $0.session == session }) else { return nil }
        ways[index].underWay += 1
        ways.append(ways.remove(at: index))
        return ways.last
    }

    /// A request is over. Answers the place of its way, if that is still there.
    @discardableResult
    mutating func ended(_ queues: QueueConnections) -> Int? {
        guard let index = ways.firstIndex(where: { $0.queues === queues }) else { return nil }
        ways[index].underWay -= 1
        return index
    }

    /// A client is gone.
    mutating func release(_ client: UInt64) {
        for index in ways.indices { ways[index].clients.remove(client) }
    }

    // MARK: Too many

    private func count(of client: UInt64) -> Int { ways.count { $0.clients.contains(client) } }

    /// Drops a way where there is one too many of those that lead somewhere, or of those that do not yet: of the
    /// client that has most of them the one that was not used for longest, one over which a request goes only after all
    /// others of the same clients, and only where they have more than the client of the new one. That may be the new one.
    private mutating func makeRoom(for newest: QueueConnections) -> Outcome {
        guard let new = ways.first(where: { $0.queues === newest }) else { return Outcome(isThere: false) }
        let alike = ways.filter { ($0.session == nil) == (new.session == nil) }
        guard alike.count > limit else { return Outcome(isThere: true) }
        // Of several clients the one with fewest speaks for it; one that nobody has goes first.
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
