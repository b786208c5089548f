import Base

/// Tracks each queue's subscriber and its unacknowledged message, in memory. Clients subscribe again after
/// reconnecting.
///
/// `rollBack` undoes all changes when the database transaction fails.
struct Deliveries {
    private struct Subscription {
        let client: Client
        /// The unacknowledged message.
        var message: (number: Int64, id: [UInt8])?
        /// Whether a message waits for capacity at the client.
        var isWaiting = false
    }

    /// By row id of the queue.
    private var subscriptions: [Int64: Subscription] = [:]
    private var queues: [UInt64: Set<Int64>] = [:]
    /// Queues whose messages wait for capacity, by client. Entries may be obsolete.
    private var waiting: [UInt64: WaitingQueues] = [:]
    /// The state before uncommitted changes, by queue.
    private var before: [Int64: Subscription?] = [:]

    // MARK: Transactions

    mutating func commit() { before = [:] }

    mutating func rollBack() {
        let changed = before
        for (queue, subscription) in changed {
            set(queue, subscription)
            if let subscription, subscription.isWaiting {
                waiting[subscription.client.number, default: WaitingQueues()].append(queue)
            }
        }
        before = [:]
    }

    private mutating func set(_ queue: Int64, _ subscription: Subscription?) {
        let old = subscriptions[queue]
        if before[queue] == nil { before[queue] = .some(old) }
        if let old, old.client !== subscription?.client {
            queues[old.client.number]?.remove(queue)
            if queues[old.client.number]?.isEmpty == true { queues[old.client.number] = nil }
        }
        if let subscription { queues[subscription.client.number, default: []].insert(queue) }
        subscriptions[queue] = subscription
    }

    // MARK: Subscriptions

    var count: Int { subscriptions.count }

    func client(of queue: Int64) -> Client? { subscriptions[queue]?.client }

    /// Subscribes a client to a queue, including its unacknowledged message. Returns the former subscriber.
    mutating func subscribe(_ client: Client, to queue: Int64) -> Client? {
        let former = subscriptions[queue]?.client
        set(queue, Subscription(client: client))
        return former === client ? nil : former
    }

    /// Removes the subscriber of a queue. Returns the former subscriber.
    mutating func unsubscribe(_ queue: Int64) -> Client? {
        let former = subscriptions[queue]?.client
        if former != nil { set(queue, nil) }
        return former
    }

    /// Removes all subscriptions of a client that has gone.
    mutating func remove(_ client: Client) {
        for queue in queues[client.number] ?? [] { set(queue, nil) }
        waiting[client.number] = nil
    }

    // MARK: Messages

    /// Returns the client for the queue's next message and reserves capacity for it. Returns nil if a message is
    /// unacknowledged or capacity is missing; in the latter case `ready` returns the queue later.
    mutating func begin(_ queue: Int64) -> Client? {
        guard var subscription = subscriptions[queue], subscription.message == nil, !subscription.isWaiting
        else { return nil }
        if subscription.client.reserveDelivery() { return subscription.client }
        subscription.isWaiting = true
        set(queue, subscription)
        waiting[subscription.client.number, default: WaitingQueues()].append(queue)
        return nil
    }

    mutating func delivered(_ queue: Int64, _ message: StoredMessage) {
        guard var subscription = subscriptions[queue] else { return }
        subscription.message = (message.number, message.id)
        set(queue, subscription)
    }

    /// Returns the row id of the acknowledged message, or nil if it is not the delivered one.
    mutating func acknowledge(_ id: [UInt8], of queue: Int64, by client: Client) -> Int64? {
        guard var subscription = subscriptions[queue], subscription.client === client,
            let message = subscription.message, message.id == id
        else { return nil }
        subscription.message = nil
        set(queue, subscription)
        return message.number
    }

    /// Returns whether a message of the queue waits for capacity.
    func isWaiting(_ queue: Int64) -> Bool { subscriptions[queue]?.isWaiting == true }

    /// Returns queues whose messages waited for the client's capacity, the oldest first. Skips obsolete entries.
    mutating func ready(_ client: Client, atMost count: Int) -> [Int64] {
        var ready: [Int64] = []
        while ready.count < count, let queue = waiting[client.number]?.popFirst() {
            guard var subscription = subscriptions[queue], subscription.client === client,
                subscription.isWaiting
            else { continue }
            subscription.isWaiting = false
            set(queue, subscription)
            ready.append(queue)
        }
        if waiting[client.number]?.count == 0 { waiting[client.number] = nil }
        return ready
    }

    /// The number of entries for waiting queues. For tests.
    var waitingCount: Int { waiting.values.reduce(0) { $0 + $1.count } }
}

/// Queues of one client, the oldest first, each once: a client may subscribe any number of times to a queue whose
/// message waits.
private struct WaitingQueues {
    private var queues = ElementQueue<Int64>()
    private var members: Set<Int64> = []

    var count: Int { members.count }

    mutating func append(_ queue: Int64) {
        if members.insert(queue).inserted { queues.append(queue) }
    }

    mutating func popFirst() -> Int64? {
        guard let queue = queues.popFirst() else { return nil }
        members.remove(queue)
        return queue
    }
}
