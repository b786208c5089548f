import Base
import Cryptography
import SMP
import Store
import Synchronization

/// The database of connections. All calls block.
final class AgentStore: Sendable {
    private let database: Database
    private let tools: AgentTools
    private let clock: StoredClock
    private let closed = Atomic(false)

    /// Retention of received hashes: at least as long as servers keep messages.
    static let receivedAge = Duration.seconds(21 * 86_400)

    /// - Parameter key: database key, 32 bytes; nil stores it unencrypted.
    init(path: String, key: SecretBytes?, tools: AgentTools, clock: any BootClock) throws(StoreError) {
        database = try Database(path: path, migrations: AgentSchema.migrations, key: key)
        self.tools = tools
        self.clock = try StoredClock(clock, in: database)
    }

    /// Reads from one snapshot.
    func read<Result>(_ body: (AgentTables) throws -> Result) throws -> Result {
        try database.read { try body(AgentTables($0, tools: tools, now: clock.now())) }
    }

    /// Runs a transaction, which is rolled back if `body` throws.
    func change<Result>(_ body: (inout AgentTables) throws -> Result) throws -> (Result, StepOutcome) {
        try database.transaction { connection in
            var tables = AgentTables(connection, tools: tools, now: try clock.keep(in: connection))
            let result = try body(&tables)
            return (result, tables.outcome)
        }
    }

    /// Waits for the current transaction. All later calls fail.
    func close() {
        closed.store(true, ordering: .releasing)
        database.close()
    }

    var isClosed: Bool { closed.load(ordering: .acquiring) }
}

/// Work to start after a committed transaction.
struct StepOutcome: Sendable {
    var hasEvents = false
    /// Connections with messages to send.
    var outgoing: Set<ConnectionID> = []
    /// Connections whose waiting messages can be retried.
    var tryAgain: Set<ConnectionID> = []
    /// Queues with pending work on their servers.
    var queues: Set<Int64> = []
    /// Servers whose queues may need a subscription.
    var servers: Set<ServerAddress> = []
}

/// All tables within one transaction.
struct AgentTables {
    private let connection: Connection
    private let tools: AgentTools
    /// Time of the database's clock (`StoredClock`).
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

    /// Makes one step of a connection, and stores its new state and effects.
    mutating func step<Result>(
        _ id: ConnectionID, _ body: (inout ConnectionMachine) throws -> Result
    ) throws -> Result {
        let before = try connections.load(id)
        var machine = ConnectionMachine(before, tools: tools)
        let result = try body(&machine)
        machine.state.noteLeavingQueues(at: now)
        try connections.save(id, machine.state, before: before)
        for effect in machine.effects { try perform(effect, of: id) }
        if machine.state.phase == .connected, before.phase != .connected { try stands(id) }
        if machine.state.receiving != before.receiving {
            try updateQueues(of: id)
        }
        // A changed state may allow sending, or finish a deletion.
        let mayGoOn =
            machine.state.phase != before.phase || machine.state.sending != before.sending
            || machine.state.receiving != before.receiving
            || machine.state.synchronisation.phase != before.synchronisation.phase
        if mayGoOn { outcome.outgoing.insert(id) }
        return result
    }

    private func stands(_ id: ConnectionID) throws {
        try outgoing.startWaitingTime(id, now: now)
        if let hash = try connections.linkHash(of: id) { try links.removeOpened(hash) }
    }

    /// Returns a machine for queries only.
    func machine(of state: ConnectionState) -> ConnectionMachine { ConnectionMachine(state, tools: tools) }

    /// Returns the connection made with a link, unless it has failed.
    func joined(with linkHash: [UInt8]) throws -> ConnectionID? {
        guard let known = try connections.joined(linkHash: linkHash) else { return nil }
        let phase = try connections.load(known).phase
        return phase == .failed || phase == .deleting ? nil : known
    }

    /// Deletes a connection and reports it.
    mutating func removeConnection(_ id: ConnectionID) throws {
        try connections.remove(id)
        try tell(.deleted, of: id)
    }

    /// Stores a new connection and schedules the creation of its queue.
    mutating func insert(
        _ state: ConnectionState, linkHash: [UInt8]? = nil, reason: String? = nil
    ) throws -> ConnectionID {
        let id = try connections.insert(state, linkHash: linkHash, reason: reason)
        try updateQueues(of: id)
        outcome.outgoing.insert(id)
        return id
    }

    /// Collects all unfinished work, and deletes expired data.
    mutating func goOn() throws {
        outcome.hasEvents = true
        try links.expireOpened(now: now)
        try failUnansweredHandshakes()
        for id in try connections.agreeing() {
            do {
                try followLostKeys(of: id)
            } catch let error as AgentError where error.code == .damaged {
                // Damage is reported when the connection is used.
            }
        }
        outcome.outgoing.formUnion(try connections.unfinished())
        outcome.queues.formUnion(try queues.unfinished())
        outcome.servers.formUnion(try queues.subscribableServers().map(\.address))
    }

    /// Fails handshakes whose confirmation has expired on its server without a reply.
    mutating func failUnansweredHandshakes() throws {
        for id in try connections.unanswered(since: now.advanced(by: .zero - AgentStore.receivedAge)) {
            do {
                try step(id) { $0.fail(.noAnswer) }
            } catch let error as AgentError where error.code == .damaged {
                // Damage is reported when the connection is used.
            }
        }
    }

    /// Restarts a key agreement whose keys have expired.
    mutating func followLostKeys(of id: ConnectionID) throws {
        guard try !outgoing.hasKeyMessages(of: id) else { return }
        let now = now
        try step(id) { try $0.followLostKeys(now: now) }
    }

    private mutating func updateQueues(of id: ConnectionID) throws {
        let receiving = try queues.receiving(of: id)
        outcome.servers.formUnion(receiving.map(\.server))
        outcome.queues.formUnion(
            receiving.filter { $0.status != .active || $0.keyToSecure != nil }.map(\.id))
    }

    /// Appends a message and returns its number.
    @discardableResult
    mutating func send(_ item: Outgoing, isBody: Bool, to id: ConnectionID) throws -> Int64 {
        outcome.outgoing.insert(id)
        let waits = try item.kind != .message || connections.stands(id)
        return try outgoing.append(item, isBody: isBody, to: id, since: waits ? now : nil)
    }

    /// Records a message as accepted by a server or received by the peer.
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
            // Skip repetitions: a server could send any number of full-queue events to trigger them.
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
        // Older messages have expired on the servers.
        try connection.execute(
            "DELETE FROM received WHERE time < ?", now.advanced(by: .zero - AgentStore.receivedAge))
        try connection.execute(
            "INSERT OR IGNORE INTO received (connection, hash, time) VALUES (?, ?, ?)", id.number, hash, now)
    }
}
