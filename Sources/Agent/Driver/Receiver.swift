import Base
import Posix
import SMP

/// Stores delivered messages in the order of each queue, and then acknowledges them.
final class Receiver: Sendable {
    private struct Delivered: Sendable {
        let messageID: [UInt8]
        let body: [UInt8]
    }

    private struct Waiting {
        var messages: [Delivered] = []
        /// A delivery was dropped or not acknowledged, so the server must deliver it again.
        var hasRefused = false
    }

    private struct State {
        var queues: [Subscriptions.Queue: Waiting] = [:]
        /// Number of stored bodies.
        var bodies = 0
        var capacityWaiter: CheckedContinuation<Void, Never>?
        var isStopped = false
    }

    /// Per queue: the message under way and its redelivery or the next message.
    static let messagesOfQueue = 2
    /// Total for all queues, 16 KiB each.
    static let bodies = 64

    private let state = Lock(State())
    private let work: StoreWork
    private let servers: any QueueServers
    private let times: AgentTimes
    private let log: Log
    private let follow: @Sendable (StepOutcome) -> Void
    /// Called after a message was not acknowledged; subscribes again to get it.
    private let subscribeAgain: @Sendable (Subscriptions.Queue) -> Void

    init(
        work: StoreWork, servers: any QueueServers, times: AgentTimes, log: Log,
        follow: @escaping @Sendable (StepOutcome) -> Void,
        subscribeAgain: @escaping @Sendable (Subscriptions.Queue) -> Void
    ) {
        self.work = work
        self.servers = servers
        self.times = times
        self.log = log
        self.follow = follow
        self.subscribeAgain = subscribeAgain
    }

    /// Queues a delivered message. The caller wakes the queue's lane.
    func append(messageID: [UInt8], body: [UInt8], to queue: Subscriptions.Queue) {
        state.withLock { state in
            var waiting = state.queues[queue] ?? Waiting()
            defer { state.queues[queue] = waiting }
            // Accept a copy of the first message: its `ACK` may have gone to a closed connection.
            guard !waiting.messages.dropFirst().contains(where: { $0.messageID == messageID }) else { return }
            // Servers deliver one message per queue until its `ACK`.
            guard waiting.messages.count < Self.messagesOfQueue else {
                waiting.hasRefused = true
                return
            }
            // The server delivers the first unacknowledged message, also after a new connection.
            if waiting.messages.isEmpty { waiting.hasRefused = false }
            waiting.messages.append(Delivered(messageID: messageID, body: body))
            state.bodies += 1
        }
    }

    /// Suspends while the buffer is full. Supports one waiting caller.
    func waitForSpace() async {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                if state.bodies < Self.bodies || state.isStopped { return true }
                state.capacityWaiter = continuation
                return false
            }
            if hasRoom { continuation.resume() }
        }
    }

    /// Number of messages that are not stored yet.
    var waitingBodies: Int { state.withLock { $0.bodies } }

    /// Releases the waiting caller.
    func stop() {
        let waiter = state.withLock { state in
            state.isStopped = true
            defer { state.capacityWaiter = nil }
            return state.capacityWaiter
        }
        waiter?.resume()
    }

    func work(_ queue: Subscriptions.Queue) async -> WorkOutcome {
        let (first, hasRefused) = state.withLock { state -> (Delivered?, Bool) in
            if let first = state.queues[queue]?.messages.first { return (first, false) }
            return (nil, state.queues.removeValue(forKey: queue)?.hasRefused ?? false)
        }
        guard let message = first else {
            if hasRefused { subscribeAgain(queue) }
            return .idle
        }
        let log = log
        let stored = await work.attempt("store received message") { store in
            try store.change { tables in
                try Self.receive(message, from: queue, &tables, log: log)
            }
        }
        guard let stored else {
            guard await isDamaged(queue) else { return .retry(times.store) }
            // It stays on its server. Here it would take room from other connections for good.
            freeFirstBody(of: queue)
            _ = removeFirst(of: queue)
            return .more
        }
        freeFirstBody(of: queue)
        follow(stored.1)
        // The queue was deleted just now.
        let isAcknowledged = if let own = stored.0 { await acknowledge(message, own) } else { true }
        guard isAcknowledged else {
            // Without a pause, a server in trouble would deliver it and refuse the `ACK` over and over.
            refuseFirst(of: queue)
            return .retry(times.network)
        }
        if removeFirst(of: queue) { subscribeAgain(queue) }
        return .more
    }

    /// Whether the queue belongs to a damaged connection, which can store no message.
    private func isDamaged(_ queue: Subscriptions.Queue) async -> Bool {
        let isUsable = await work.attempt("read connection of message") { store in
            try store.read { tables -> Bool in
                guard
                    let place = try tables.queues.receiving(
                        recipientID: queue.recipientID, on: queue.server)
                else { return true }
                return try tables.connections.usable(place.connection) != nil
            }
        }
        return isUsable == false
    }

    /// Removes a queue's first message, which the server must deliver again.
    private func refuseFirst(of queue: Subscriptions.Queue) {
        state.withLock { state in
            state.queues[queue]?.messages.removeFirst()
            state.queues[queue]?.hasRefused = true
        }
    }

    /// Removes a queue's first message. Returns whether another delivery was dropped meanwhile.
    private func removeFirst(of queue: Subscriptions.Queue) -> Bool {
        state.withLock { state in
            var waiting = state.queues[queue] ?? Waiting()
            waiting.messages.removeFirst()
            defer {
                waiting.hasRefused = false
                state.queues[queue] = waiting.messages.isEmpty ? nil : waiting
            }
            return waiting.hasRefused
        }
    }

    /// Frees the body of a queue's stored first message, which now waits only for its `ACK`.
    private func freeFirstBody(of queue: Subscriptions.Queue) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let first = state.queues[queue]?.messages.first else { return nil }
            state.queues[queue]?.messages[0] = Delivered(messageID: first.messageID, body: [])
            state.bodies -= 1
            defer { state.capacityWaiter = nil }
            return state.capacityWaiter
        }
        waiter?.resume()
    }

    /// Processes a message and returns its queue; nil if the queue is unknown.
    private static func receive(
        _ message: Delivered, from queue: Subscriptions.Queue, _ tables: inout AgentTables, log: Log
    ) throws -> ReceivingQueue? {
        guard
            let place = try tables.queues.receiving(recipientID: queue.recipientID, on: queue.server),
            let own = try tables.queues.receiving(of: place.connection).first(where: { $0.id == place.queue })
        else { return nil }
        guard let body = try? own.open(message.body, messageID: message.messageID) else {
            log.warning("message not decrypted: connection=\(place.connection.number)")
            return own
        }
        let before = tables
        try tables.step(place.connection) { machine in
            guard let index = machine.state.receiving.firstIndex(where: { $0.id == place.queue }) else {
                return
            }
            try machine.receive(body, at: index, now: before.now) {
                try before.isKnown($0, of: place.connection)
            }
        }
        return own
    }

    private func acknowledge(_ message: Delivered, _ queue: ReceivingQueue) async -> Bool {
        guard let key = try? queue.authorization else {
            // Redelivery would fail the same way.
            log.warning("message not acknowledged: queue=\(queue.id) error=damaged key")
            return true
        }
        let request = ClientRequest(
            .acknowledge(messageID: message.messageID), of: queue.recipientID, key: .signing(key),
            timeout: times.answer)
        do throws(SMPError) {
            switch try await servers.ask(request, of: queue.server) {
            // The queue has another subscriber, was deleted, or the message was acknowledged before.
            case .error(.noMessage), .error(.authorization): return true
            case .error(let error): return !error.isTemporary
            default: return true
            }
        } catch {
            return false
        }
    }
}
