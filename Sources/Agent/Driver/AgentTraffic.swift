import Base
import Posix
import SMP

/// The exchange with servers: subscriptions, received and sent messages, creation and deletion of queues. Its
/// memory holds only work under way; all other state is in the database.
final class AgentTraffic: Sendable {
    private struct Parts: Sendable {
        let outgoing: WorkQueue<ConnectionID>
        let queues: WorkQueue<Int64>
        let subscribing: WorkQueue<ServerAddress>
        let incoming: WorkQueue<Subscriptions.Queue>
        let subscriptions: Subscriptions
        let receiver: Receiver
    }

    private let servers: any QueueServers
    private let feed: EventFeed
    private let parts: Parts
    private let listening = Lock<Task<Void, Never>?>(nil)
    /// Passes work between the parts.
    private let follower: Follower

    init(
        work: StoreWork, servers: any QueueServers, settings: AgentSettings, log: Log, feed: EventFeed
    ) {
        let times = settings.times
        self.servers = servers
        self.feed = feed
        let follower = Follower()
        self.follower = follower
        let follow: @Sendable (StepOutcome) -> Void = { follower.follow($0) }
        let subscriptions = Subscriptions(work: work, servers: servers, times: times, follow: follow)
        let receiver = Receiver(
            work: work, servers: servers, times: times, log: log, follow: follow,
            subscribeAgain: { follower.subscribeAgain($0) })
        let sender = OutgoingWorker(
            work: work, servers: servers, times: times, peer: settings.peer, follow: follow)
        let keeper = QueueWorker(work: work, servers: servers, times: times, log: log, follow: follow)
        parts = Parts(
            outgoing: WorkQueue { await sender.work($0) }, queues: WorkQueue { await keeper.work($0) },
            subscribing: WorkQueue { await subscriptions.work($0) },
            incoming: WorkQueue { await receiver.work($0) },
            subscriptions: subscriptions, receiver: receiver)
        follower.traffic.withLock { $0 = Follower.Weak(traffic: self) }
    }

    /// Starts reading server events and resumes unfinished work.
    func start(with unfinished: StepOutcome) {
        let (servers, parts) = (servers, parts)
        listening.withLock { task in
            task = Task { [weak self] in
                for await event in servers.events {
                    guard let self else { return }
                    await self.take(event, parts)
                }
            }
        }
        follow(unfinished)
    }

    /// Starts no more work. Does not wait for commands under way.
    func stop() {
        listening.withLock { $0 }?.cancel()
        parts.subscribing.stop()
        parts.incoming.stop()
        parts.receiver.stop()
        parts.queues.stop()
        parts.outgoing.stop()
    }

    /// Number of queues with a current subscription.
    var subscribedQueues: Int { parts.subscriptions.count }

    var waitingMessages: Int { parts.receiver.waitingBodies }

    private func take(_ event: QueueServerEvent, _ parts: Parts) async {
        switch event {
        case .delivered(let server, let recipientID, let messageID, let body):
            let queue = Subscriptions.Queue(server: server, recipientID: recipientID)
            parts.receiver.append(messageID: messageID, body: body, to: queue)
            parts.incoming.wake(queue)
            await parts.receiver.waitForSpace()
        case .ended(let server, let recipientID), .deleted(let server, let recipientID):
            _ = await parts.subscriptions.takenOver(
                Subscriptions.Queue(server: server, recipientID: recipientID))
        case .connected(let server):
            parts.subscriptions.reset(server)
            parts.subscribing.hurry(server)
            hurry()
        case .disconnected(let server): parts.subscriptions.reset(server)
        }
    }

    /// Returns true once all sendable messages are on their servers or not due again before `end`; false at
    /// `end`.
    func finishSending(until end: ContinuousClock.Instant) async -> Bool {
        // A new queue can make a message sendable, and a sent message can end a queue.
        while await parts.outgoing.rest(until: end) {
            guard await parts.queues.rest(until: end) else { return false }
            if parts.outgoing.rests(until: end) { return true }
        }
        return false
    }

    /// Returns once every reachable server was subscribed to and its waiting messages are stored, at `end` at
    /// the latest.
    func receiveWaiting(until end: ContinuousClock.Instant) async {
        while await parts.subscribing.rest(until: end), ContinuousClock.now < end {
            // Queued messages follow right behind the replies to `SUB`.
            try? await Task.sleep(for: .milliseconds(100))
            guard await parts.incoming.rest(until: end) else { return }
            let isQuiet = parts.subscribing.rests(until: end) && parts.incoming.rests(until: end)
            if isQuiet, parts.receiver.waitingBodies == 0 { return }
        }
    }

    /// Retries failed work at once.
    func hurry() {
        parts.outgoing.endRetryDelays()
        parts.queues.endRetryDelays()
    }

    /// Starts the work that a transaction left.
    func follow(_ outcome: StepOutcome) {
        if outcome.hasEvents {
            let feed = feed
            Task { await feed.announce() }
        }
        for connection in outcome.outgoing { parts.outgoing.wake(connection) }
        for connection in outcome.tryAgain { parts.outgoing.hurry(connection) }
        for queue in outcome.queues { parts.queues.wake(queue) }
        for server in outcome.servers { parts.subscribing.wake(server) }
    }

    fileprivate func subscribeAgain(_ queue: Subscriptions.Queue) {
        parts.subscriptions.forget(queue)
        parts.subscribing.wake(queue.server)
    }
}

/// Breaks the reference cycle between the traffic and its parts.
private final class Follower: Sendable {
    struct Weak: Sendable {
        weak let traffic: AgentTraffic?
    }

    let traffic = Lock<Weak?>(nil)

    func follow(_ outcome: StepOutcome) { traffic.withLock { $0 }?.traffic?.follow(outcome) }
    func subscribeAgain(_ queue: Subscriptions.Queue) {
        traffic.withLock { $0 }?.traffic?.subscribeAgain(queue)
    }
}
