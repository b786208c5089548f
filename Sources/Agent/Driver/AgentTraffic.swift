import Base
import Posix
import SMP

/// The exchange with servers: subscriptions, received and sent messages, creation and deletion of queues. Its
/// memory holds only work under way; all other state is in the database.
final class AgentTraffic: Sendable {
    private let outgoing = WorkQueue<ConnectionID>()
    private let queues = WorkQueue<Int64>()
    private let subscribing = WorkQueue<ServerAddress>()
    private let incoming = WorkQueue<Subscriptions.Queue>()
    private let subscriptions: Subscriptions
    private let receiver: Receiver
    private let servers: any QueueServers
    private let listening = Lock<Task<Void, Never>?>(nil)
    /// Starts the work that a transaction left.
    let follow: @Sendable (StepOutcome) -> Void

    init(
        work: StoreWork, servers: any QueueServers, settings: AgentSettings, log: Log, feed: EventFeed
    ) {
        let times = settings.times
        // Weak, because the queues hold the workers.
        let follow: @Sendable (StepOutcome) -> Void = {
            [weak outgoing, weak queues, weak subscribing] outcome in
            if outcome.hasEvents { Task { await feed.announce() } }
            for connection in outcome.outgoing { outgoing?.wake(connection) }
            for connection in outcome.tryAgain { outgoing?.hurry(connection) }
            for queue in outcome.queues { queues?.wake(queue) }
            for server in outcome.servers { subscribing?.wake(server) }
        }
        let subscriptions = Subscriptions(work: work, servers: servers, times: times, follow: follow)
        let receiver = Receiver(
            work: work, servers: servers, times: times, log: log, follow: follow,
            subscribeAgain: { [weak subscribing] queue in
                subscriptions.forget(queue)
                subscribing?.wake(queue.server)
            })
        (self.servers, self.follow) = (servers, follow)
        (self.subscriptions, self.receiver) = (subscriptions, receiver)
        let sender = OutgoingWorker(
            work: work, servers: servers, times: times, peer: settings.peer, follow: follow)
        let keeper = QueueWorker(work: work, servers: servers, times: times, log: log, follow: follow)
        outgoing.begin { await sender.work($0) }
        queues.begin { await keeper.work($0) }
        subscribing.begin { await subscriptions.work($0) }
        incoming.begin { await receiver.work($0) }
    }

    /// Starts reading server events and resumes unfinished work.
    func start(with unfinished: StepOutcome) {
        listening.withLock { task in
            task = Task { [servers, weak self] in
                for await event in servers.events {
                    guard let self else { return }
                    await self.take(event)
                }
            }
        }
        follow(unfinished)
    }

    /// Starts no more work. Does not wait for commands under way.
    func stop() {
        listening.withLock { $0 }?.cancel()
        subscribing.stop()
        incoming.stop()
        receiver.stop()
        queues.stop()
        outgoing.stop()
    }

    /// Number of queues with a current subscription.
    var subscribedQueues: Int { subscriptions.count }

    var waitingMessages: Int { receiver.waitingBodies }

    private func take(_ event: QueueServerEvent) async {
        switch event {
        case .delivered(let server, let recipientID, let messageID, let body):
            let queue = Subscriptions.Queue(server: server, recipientID: recipientID)
            receiver.append(messageID: messageID, body: body, to: queue)
            incoming.wake(queue)
            await receiver.waitForSpace()
        case .ended(let server, let recipientID), .deleted(let server, let recipientID):
            _ = await subscriptions.takenOver(
                Subscriptions.Queue(server: server, recipientID: recipientID))
        case .connected(let server):
            subscriptions.reset(server)
            subscribing.hurry(server)
            hurry()
        case .disconnected(let server): subscriptions.reset(server)
        }
    }

    /// Returns true once all sendable messages are on their servers or not due again before `end`; false at
    /// `end`.
    func finishSending(until end: ContinuousClock.Instant) async -> Bool {
        // A new queue can make a message sendable, and a sent message can end a queue.
        while await outgoing.rest(until: end) {
            guard await queues.rest(until: end) else { return false }
            if outgoing.rests(until: end) { return true }
        }
        return false
    }

    /// Returns once every reachable server was subscribed to and its waiting messages are stored, at `end` at
    /// the latest.
    func receiveWaiting(until end: ContinuousClock.Instant) async {
        while await subscribing.rest(until: end), ContinuousClock.now < end {
            // Queued messages follow right behind the replies to `SUB`.
            try? await Task.sleep(for: .milliseconds(100))
            guard await incoming.rest(until: end) else { return }
            let isQuiet = subscribing.rests(until: end) && incoming.rests(until: end)
            if isQuiet, receiver.waitingBodies == 0 { return }
        }
    }

    /// Retries failed work at once.
    func hurry() {
        outgoing.endRetryDelays()
        queues.endRetryDelays()
    }
}
