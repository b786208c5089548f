import Base
import Posix
import SMP

/// Takes what servers deliver, in the order of each queue: first into the database, then it is acknowledged.
final class Receiver: Sendable {
    private struct Delivered: Sendable {
        let messageID: [UInt8]
        let body: [UInt8]
    }

    private struct Waiting {
        var messages: [Delivered] = []
        /// Something was not taken, and is to come again.
        var hasRefused = false
    }

    private struct State {
        var queues: [Subscriptions.Queue: Waiting] = [:]
        /// Bodies among them.
        var bodies = 0
        var capacityWaiter: CheckedContinuation<Void, Never>?
        var isStopped = false
    }

    /// Of each queue: the one that is under way, and its copy or the next.
    static let messagesOfQueue = 2
    /// Of all together, 16 KiB each.
    static let bodies = 64

    private let state = Lock(State())
    private let work: StoreWork
    private let servers: any QueueServers
    private let times: AgentTimes
    private let log: Log
    private let follow: @Sendable (StepOutcome) -> Void
    /// A message was not acknowledged, and is to come again.
    private let askAgain: @Sendable (Subscriptions.Queue) -> Void

    init(
        work: StoreWork, servers: any QueueServers, times: AgentTimes, log: Log,
        follow: @escaping @Sendable (StepOutcome) -> Void,
        askAgain: @escaping @Sendable (Subscriptions.Queue) -> Void
    ) {
        self.work = work
        self.servers = servers
        self.times = times
        self.log = log
        self.follow = follow
        self.askAgain = askAgain
    }

    /// A server has delivered a message. The caller wakes the queue's lane.
    func append(messageID: [UInt8], body: [UInt8], to queue: Subscriptions.Queue) {
        state.withLock { state in
            var waiting = state.queues[queue] ?? Waiting()
            defer { state.queues[queue] = waiting }
            // The first may be under way, acknowledged in vain on a connection that has ended: its copy is needed.
            guard !waiting.messages.dropFirst().contains(where: { $0.messageID == messageID }) else { return }
            // No server gives more before it has heard of the first.
            guard waiting.messages.count < Self.messagesOfQueue else {
                waiting.hasRefused = true
                return
            }
            waiting.messages.append(Delivered(messageID: messageID, body: body))
            state.bodies += 1
        }
    }

    /// Returns when it has capacity for more; for one caller. What stands here only waits for the database.
    func waitForRoom() async {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                if state.bodies < Self.bodies || state.isStopped { return true }
                state.capacityWaiter = continuation
                return false
            }
            if hasRoom { continuation.resume() }
        }
    }

    /// Messages that wait to be stored.
    var waitingBodies: Int { state.withLock { $0.bodies } }

    /// Nobody waits here any more.
    func stop() {
        let waiter = state.withLock { state in
            state.isStopped = true
            defer { state.capacityWaiter = nil }
            return state.capacityWaiter
        }
        waiter?.resume()
    }

    func work(_ queue: Subscriptions.Queue) async -> Lanes<Subscriptions.Queue>.Outcome {
        guard let message = state.withLock({ $0.queues[queue]?.messages.first }) else { return .idle }
        let log = log
        let stored = await work.attempt("store what was received") { store in
            try store.change { tables in
                try Self.receive(message, from: queue, &tables, log: log)
            }
        }
        guard let stored else { return .retry(times.store) }
        freeFirst(of: queue)
        follow(stored.1)
        // Nobody here has such a queue: it was deleted a moment ago.
        let isAcknowledged = if let own = stored.0 { await acknowledge(message, own) } else { true }
        let hasRefused = state.withLock { state in
            var waiting = state.queues[queue] ?? Waiting()
            waiting.messages.removeFirst()
            defer {
                waiting.hasRefused = false
                state.queues[queue] = waiting.messages.isEmpty ? nil : waiting
            }
            return waiting.hasRefused
        }
        if !isAcknowledged || hasRefused { askAgain(queue) }
        return .more
    }

    /// The first message of a queue is in the database: only that it is acknowledged is waited for.
    private func freeFirst(of queue: Subscriptions.Queue) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let first = state.queues[queue]?.messages.first else { return nil }
            state.queues[queue]?.messages[0] = Delivered(messageID: first.messageID, body: [])
            state.bodies -= 1
            defer { state.capacityWaiter = nil }
            return state.capacityWaiter
        }
        waiter?.resume()
    }

    /// The queue, where it is there.
    private static func receive(
        _ message: Delivered, from queue: Subscriptions.Queue, _ tables: inout AgentTables, log: Log
    ) throws -> ReceivingQueue? {
        guard
            let place = try tables.queues.receiving(recipientID: queue.recipientID, on: queue.server),
            let own = try tables.queues.receiving(of: place.connection).first(where: { $0.id == place.queue })
        else { return nil }
        guard let body = try? own.open(message.body, messageID: message.messageID) else {
            log.warning("a messaging server delivered what it did not encrypt for this profile")
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
            // Asked again, the server would only say the same again.
            log.warning("a message cannot be acknowledged: the key of its queue is damaged")
            return true
        }
        let request = ClientRequest(
            .acknowledge(messageID: message.messageID), of: queue.recipientID, key: .signing(key),
            timeout: times.answer)
        do throws(SMPError) {
            switch try await servers.ask(request, of: queue.server) {
            // Another connection has it now, or it was acknowledged before, or the queue is deleted.
            case .error(.noMessage), .error(.authorization): return true
            case .error(let error): return !error.isTemporary
            default: return true
            }
        } catch {
            return false
        }
    }
}
