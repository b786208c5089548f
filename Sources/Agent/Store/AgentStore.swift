import Base
import Cryptography
import SMP
import Store

/// The database of connections. All calls block.
final class AgentStore: Sendable {
    private let database: Database
    private let tools: AgentTools
    private let clock: StoredClock
    private let closed = Lock(false)

    /// How long it is remembered what was received: at least as long as a server keeps anything.
    static let receivedAge = Duration.seconds(21 * 86_400)

    /// - Parameter key: 32 bytes with which the file is sealed.
    init(path: String, key: SecretBytes?, tools: AgentTools, clock: any BootClock) throws(StoreError) {
        database = try Database(path: path, migrations: AgentSchema.migrations, key: key)
        self.tools = tools
        self.clock = try StoredClock(clock, in: database)
    }

    /// Reads from one snapshot.
    func read<Result>(_ body: (AgentTables) throws -> Result) throws -> Result {
        try database.read { try body(AgentTables($0, tools: tools, now: clock.now())) }
    }

    /// Changes all that `body` changes, or, when it throws, nothing.
    func change<Result>(_ body: (inout AgentTables) throws -> Result) throws -> (Result, StepOutcome) {
        try database.transaction { connection in
            var tables = AgentTables(connection, tools: tools, now: try clock.keep(in: connection))
            let result = try body(&tables)
            return (result, tables.outcome)
        }
    }

    /// Waits for a transaction under way. Everything fails afterwards.
    func close() {
        closed.withLock { $0 = true }
        database.close()
    }

    var isClosed: Bool { closed.withLock { $0 } }
}

/// What is to be done after a transaction: everything in it is stored already.
struct StepOutcome: Sendable {
    var hasEvents = false
    /// Connections with something to be sent.
    var outgoing: Set<ConnectionID> = []
    /// Connections whose waiting for capacity, or for anything else, is over.
    var tryAgain: Set<ConnectionID> = []
    /// Queues of which something is to be done with their server.
    var queues: Set<Int64> = []
    /// Servers with queues that may be to be subscribed to.
    var servers: Set<ServerAddress> = []
}

/// All tables, within one transaction.
struct AgentTables {
    private let connection: Connection
    private let tools: AgentTools
    /// By the clock of the database (`StoredClock`).
    let now: ElapsedTime
    private(set) var outcome = StepOutcome()

    init(_ connection: Connection, tools: AgentTools, now: ElapsedTime) {
        self.connection = connection
        self.tools = tools
        self.now = now
    }

    var connections: ConnectionTable { ConnectionTable(connection) }
    var queues: QueueTable { QueueTable(connection) }
    var outgoing: OutgoingTable { OutgoingTable(connection) }
    var events: EventTable { EventTable(connection) }
    var links: LinkTable { LinkTable(connection) }

    /// One step of a connection: what it changes, and what it has to have done.
    mutating func step<Result>(
        _ id: ConnectionID, _ body: (inout ConnectionMachine) throws -> Result
    ) throws -> Result {
        let before = try connections.load(id)
        var machine = ConnectionMachine(before, tools: tools)
        let result = try body(&machine)
        try connections.save(id, machine.state, before: before)
        for effect in machine.effects { try perform(effect, of: id) }
        if machine.state.phase == .connected, before.phase != .connected { try stands(id) }
        if machine.state.receiving != before.receiving {
            try lookAfterQueues(of: id)
        }
        // What could not be sent before may be sent now; and deleting goes on when nothing is left to be sent.
        let mayGoOn =
            machine.state.phase != before.phase || machine.state.sending != before.sending
            || machine.state.receiving != before.receiving
            || machine.state.synchronisation.phase != before.synchronisation.phase
        if mayGoOn { outcome.outgoing.insert(id) }
        return result
    }

    private func stands(_ id: ConnectionID) throws {
        try outgoing.beginWaiting(id, now: now)
        if let hash = try connections.linkHash(of: id) { try links.removeOpened(hash) }
    }

    /// A connection that is only looked at.
    func machine(of state: ConnectionState) -> ConnectionMachine { ConnectionMachine(state, tools: tools) }

    /// The connection that a link has led to, or still may.
    func joined(with linkHash: [UInt8]) throws -> ConnectionID? {
        guard let known = try connections.joined(linkHash: linkHash) else { return nil }
        let phase = try connections.load(known).phase
        return phase == .failed || phase == .deleting ? nil : known
    }

    /// Ends a connection.
    mutating func removeConnection(_ id: ConnectionID) throws {
        try connections.remove(id)
        try tell(.deleted, of: id)
    }

    /// Stores a new connection, and has its queue made.
    mutating func insert(
        _ state: ConnectionState, linkHash: [UInt8]? = nil, reason: String? = nil
    ) throws -> ConnectionID {
        let id = try connections.insert(state, linkHash: linkHash, reason: reason)
        try lookAfterQueues(of: id)
        outcome.outgoing.insert(id)
        return id
    }

    /// Has everything gone on with that was not finished.
    mutating func goOn() throws {
        outcome.hasEvents = true
        try endUnanswered()
        for id in try connections.agreeing() {
            do {
                try followLostKeys(of: id)
            } catch let error as AgentError where error.code == .damaged {
                // Whoever uses it is told.
            }
        }
        outcome.outgoing.formUnion(try connections.unfinished())
        outcome.queues.formUnion(try queues.unfinished())
        outcome.servers.formUnion(try queues.subscribableServers().map(\.address))
    }

    /// Whoever has not answered a confirmation for so long will not any more: it is gone from their server.
    mutating func endUnanswered() throws {
        for id in try connections.unanswered(since: now.advanced(by: .zero - AgentStore.receivedAge)) {
            do {
                try step(id) { $0.fail(.noAnswer) }
            } catch let error as AgentError where error.code == .damaged {
                // Whoever uses it is told.
            }
        }
    }

    /// New keys that were sent, and came to nothing, are followed by others.
    mutating func followLostKeys(of id: ConnectionID) throws {
        guard try !outgoing.isAnythingForNewKeys(of: id) else { return }
        let now = now
        try step(id) { try $0.followLostKeys(now: now) }
    }

    private mutating func lookAfterQueues(of id: ConnectionID) throws {
        let receiving = try queues.receiving(of: id)
        outcome.servers.formUnion(receiving.map(\.server))
        outcome.queues.formUnion(
            receiving.filter { $0.status != .active || $0.keyToSecure != nil }.map(\.id))
    }

    /// Appends something to be sent. Its number.
    @discardableResult
    mutating func send(_ item: Outgoing, isBody: Bool, to id: ConnectionID) throws -> Int64 {
        outcome.outgoing.insert(id)
        let waits = try item.kind != .message || connections.stands(id)
        return try outgoing.append(item, isBody: isBody, to: id, since: waits ? now : nil)
    }

    /// A server, or the other side itself, has taken what was to be sent.
    mutating func sent(_ item: StoredOutgoing, to id: ConnectionID) throws {
        try outgoing.remove(item, sentTo: id, now: now)
        if item.kind == .confirmation { try connections.noteConfirmed(id, at: now) }
        if item.isBody { try tell(.sent(message: item.number), of: id) }
        if item.kind != .message { try step(id) { $0.sent(item.kind) } }
    }

    mutating func tell(_ content: AgentEvent.Content, of id: ConnectionID) throws {
        _ = try events.append(content, of: id)
        outcome.hasEvents = true
    }

    private mutating func perform(_ effect: Effect, of id: ConnectionID) throws {
        switch effect {
        case .tell(let content): try tell(content, of: id)
        case .deliver(let message, let number, let hash):
            _ = try events.append(message, receipt: .init(number: number, hash: hash), of: id)
            outcome.hasEvents = true
        case .send(let item):
            // Said twice it says nothing more, and a server decides how often: of an overfull queue it may tell at will.
            if item.kind == .message, try outgoing.holds(item, to: id) { break }
            try send(item, isBody: false, to: id)
        case .delivered(let receipt):
            if let item = try outgoing.unanswered(receipt, in: id) { try sent(item, to: id) }
            if let number = try outgoing.confirm(receipt, in: id) {
                try tell(.delivered(message: number), of: id)
            }
        case .lost(let number):
            for item in try outgoing.settle(until: number, in: id) { try sent(item, to: id) }
            outcome.tryAgain.insert(id)
            for message in try outgoing.lost(after: number, in: id) {
                try tell(.messageFailed(message: message, .unreadable), of: id)
            }
        case .encryptAgain:
            try outgoing.encryptAgain(id)
            outcome.tryAgain.insert(id)
        case .replaceKeys: try outgoing.removeKeys(of: id)
        case .introduced:
            try outgoing.removeIntroductions(of: id)
            outcome.tryAgain.insert(id)
        case .failWaiting(let reason):
            for number in try outgoing.removeAll(of: id) {
                try tell(.messageFailed(message: number, reason), of: id)
            }
        case .tryAgain: outcome.tryAgain.insert(id)
        case .request(let link, let information):
            let request = try links.insert(request: link, at: id)
            try tell(.requested(request, information: information), of: id)
        case .remember(let hash): try remember(hash, of: id)
        }
    }

    /// Whether a ciphertext was processed before.
    func isKnown(_ hash: [UInt8], of id: ConnectionID) throws -> Bool {
        try connection.exists("SELECT 1 FROM received WHERE connection = ? AND hash = ?", id.number, hash)
    }

    private func remember(_ hash: [UInt8], of id: ConnectionID) throws {
        // What is too old cannot come again.
        try connection.execute(
            "DELETE FROM received WHERE time < ?", now.advanced(by: .zero - AgentStore.receivedAge))
        try connection.execute(
            "INSERT OR IGNORE INTO received (connection, hash, time) VALUES (?, ?, ?)", id.number, hash, now)
    }
}
