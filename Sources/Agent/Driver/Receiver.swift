import Base
import Posix
import SMP

/// Takes what servers deliver, in the order of each queue: first into the database, then it is acknowledged.
final class Receiver: Sendable {
    private struct Delivered: Sendable {
        let messageID: [UInt8]
        let body: [UInt8]
    }

    private let waiting = Lock<[Subscriptions.Queue: [Delivered]]>([:])
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
        waiting.withLock { waiting in
            // The first may be under way, acknowledged in vain on a connection that has ended: its copy is needed.
            let others = waiting[queue]?.dropFirst() ?? []
            guard !others.contains(where: { $0.messageID == messageID }) else { return }
            waiting[queue, default: []].append(Delivered(messageID: messageID, body: body))
        }
    }

    func turn(_ queue: Subscriptions.Queue) async -> Lanes<Subscriptions.Queue>.Turn {
        guard let message = waiting.withLock({ $0[queue]?.first }) else { return .idle }
        let log = log
        let stored = await work.attempt("store what was received") { store in
            try store.change { tables in
                try Self.receive(message, from: queue, &tables, log: log)
            }
        }
        guard let stored else { return .retry(times.store) }
        follow(stored.1)
        // Nobody here has such a queue: it was deleted a moment ago.
        let isAcknowledged = if let own = stored.0 { await acknowledge(message, own) } else { true }
        waiting.withLock { waiting in
            waiting[queue]?.removeFirst()
            if waiting[queue]?.isEmpty == true { waiting[queue] = nil }
        }
        if !isAcknowledged { askAgain(queue) }
        return .more
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
        let now = tables
        try tables.step(place.connection) { machine in
            guard let index = machine.state.receiving.firstIndex(where: { $0.id == place.queue }) else {
                return
            }
            try machine.receive(body, at: index) { try now.isKnown($0, of: place.connection) }
        }
        return own
    }

    private func acknowledge(_ message: Delivered, _ queue: ReceivingQueue) async -> Bool {
        guard let key = try? queue.authorization else { return true }
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
