import Base
import Cryptography
import Posix
import SMP

/// Tracks subscribed queues and subscribes to the others.
final class Subscriptions: Sendable {
    /// A queue by its recipient id.
    struct Queue: Hashable, Sendable {
        let server: ServerAddress
        let recipientID: [UInt8]
    }

    private struct State {
        var subscribed: Set<Queue> = []
        /// Queues that must be subscribed again, even if a reply to an earlier `SUB` is still to come.
        var forgotten: Set<Queue> = []
        /// Connection number per server. Replies from earlier connections are ignored.
        var connections: [ServerAddress: Int] = [:]
    }

    private let state = Lock(State())
    private let work: StoreWork
    private let servers: any QueueServers
    private let times: AgentTimes
    private let follow: @Sendable (StepOutcome) -> Void

    init(
        work: StoreWork, servers: any QueueServers, times: AgentTimes,
        follow: @escaping @Sendable (StepOutcome) -> Void
    ) {
        self.work = work
        self.servers = servers
        self.times = times
        self.follow = follow
    }

    /// Drops the server's subscriptions after a connection began or ended.
    func reset(_ server: ServerAddress) {
        state.withLock { state in
            state.connections[server, default: 0] += 1
            state.subscribed = state.subscribed.filter { $0.server != server }
        }
    }

    /// Requests redelivery of the queue's unacknowledged message.
    func forget(_ queue: Queue) {
        state.withLock { state in
            state.subscribed.remove(queue)
            state.forgotten.insert(queue)
        }
    }

    /// Subscribes to all unsubscribed queues of a server in one batch.
    func work(_ server: ServerAddress) async -> WorkOutcome {
        let stored = await work.attempt("read queues") { store in
            try store.read { try $0.queues.subscribable(on: server) }
        }
        guard let stored else { return .retry(times.store) }
        let (connection, missing) = state.withLock { state in
            let missing = stored.compactMap { stored in
                let queue = Queue(server: server, recipientID: stored.recipientID)
                return state.subscribed.contains(queue) ? nil : (queue, stored.authorizationSeed)
            }
            for (queue, _) in missing { state.forgotten.remove(queue) }
            return (state.connections[server, default: 0], missing)
        }
        let asked = missing.compactMap { queue, seed -> (Queue, ClientRequest)? in
            // A damaged key could not sign `SUB`.
            guard let key = try? SigningKey(seed: seed) else {
                work.log.warning(
                    "queue not subscribed: error=damaged key")
                return nil
            }
            return (
                queue,
                ClientRequest(.subscribe, of: queue.recipientID, key: .signing(key), timeout: times.answer)
            )
        }
        guard !asked.isEmpty else { return .idle }
        let answers = await servers.ask(asked.map(\.1), of: server)
        return await take(Array(zip(asked.map(\.0), answers)), of: server, connection: connection)
    }

    private func take(
        _ answers: [(Queue, Result<Answer, SMPError>)], of server: ServerAddress, connection: Int
    ) async -> WorkOutcome {
        var (subscribed, gone, hasFailed): (Set<Queue>, [Queue], Bool) = ([], [], false)
        for (queue, answer) in answers {
            switch answer {
            case .success(.subscribed), .success(.ok):
                subscribed.insert(queue)
            case .success(.error(.authorization)): gone.append(queue)
            default: hasFailed = true
            }
        }
        let (isPresent, count) = state.withLock { state in
            // The event of the first connection arrives while its replies are awaited.
            guard state.connections[server, default: 0] == connection else { return (false, 0) }
            state.subscribed.formUnion(subscribed.subtracting(state.forgotten))
            return (state.forgotten.isDisjoint(with: subscribed), state.subscribed.count)
        }
        for queue in gone where await !takenOver(queue) { hasFailed = true }
        if hasFailed { return .retry(times.network) }
        if isPresent { work.log.information("queues subscribed: count=\(count)") }
        return isPresent ? .idle : .more
    }

    /// Number of queues with a current subscription.
    var count: Int { state.withLock { $0.subscribed.count } }

    /// Marks a queue as taken over by another program or deleted.
    func takenOver(_ queue: Queue) async -> Bool {
        forget(queue)
        let outcome = await work.attempt("store lost queue") { store in
            try store.change { tables in
                guard
                    let place = try tables.queues.receiving(
                        recipientID: queue.recipientID, on: queue.server)
                else { return }
                try tables.step(place.connection) { machine in
                    guard
                        let index = machine.state.receiving.firstIndex(where: { $0.id == place.queue })
                    else { return }
                    machine.takenOver(index)
                }
            }.1
        }
        guard let outcome else { return false }
        follow(outcome)
        return true
    }
}
