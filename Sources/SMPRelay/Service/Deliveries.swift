/// Who has subscribed to which queue, and which message of it is on its way. Lives in memory alone: who comes again
/// subscribes again.
///
/// Changes are taken back by `rollBack`, as those of the database are when it cannot commit.
struct Deliveries {
    private struct Subscription {
        let client: Client
        /// Delivered and not acknowledged.
        var message: (number: Int64, id: [UInt8])?
        /// There is a message, and no capacity for it at the client.
        var isWaiting = false
    }

    /// By the queue's row.
    private var subscriptions: [Int64: Subscription] = [:]
    private var queues: [UInt64: Set<Int64>] = [:]
    /// Queues with a message for which a client had no capacity, by client, oldest first; some may be of no interest
    /// any more.
    private var waiting: [UInt64: [Int64]] = [:]
    /// What stood there before the changes that are not committed, by queue.
    private var before: [Int64: Subscription?] = [:]

    // MARK: All or nothing

    mutating func commit() { before = [:] }

    mutating func rollBack() {
        let changed = before
        for (queue, subscription) in changed {
            set(queue, subscription)
            if let subscription, subscription.isWaiting {
                waiting[subscription.client.number, default: []].append(queue)
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

    /// Gives the queue's messages to a client from now on, the unacknowledged one included. Answers who had them.
    mutating func subscribe(_ client: Client, to queue: Int64) -> Client? {
        let former = subscriptions[queue]?.client
        set(queue, Subscription(client: client))
        return former === client ? nil : former
    }

    /// Nobody gets the queue's messages any more. Answers who had them.
    mutating func unsubscribe(_ queue: Int64) -> Client? {
        let former = subscriptions[queue]?.client
        if former != nil { set(queue, nil) }
        return former
    }

    /// A client is gone, and all its subscriptions with it.
    mutating func remove(_ client: Client) {
        for queue in queues[client.number] ?? [] { set(queue, nil) }
        waiting[client.number] = nil
    }

    // MARK: Messages

    /// Who is to get the queue's next message now: nobody while one is on its way, or while there is no capacity; then
    /// the client comes next with `ready`. Capacity for it is reserved.
    mutating func begin(_ queue: Int64) -> Client? {
        guard var subscription = subscriptions[queue], subscription.message == nil, !subscription.isWaiting
        else { return nil }
        if subscription.client.reserveDelivery() { return subscription.client }
        subscription.isWaiting = true
        set(queue, subscription)
        waiting[subscription.client.number, default: []].append(queue)
        return nil
    }

    mutating func delivered(_ queue: Int64, _ message: StoredMessage) {
        guard var subscription = subscriptions[queue] else { return }
        subscription.message = (message.number, message.id)
        set(queue, subscription)
    }

    /// The row of the message that a client acknowledges; nil when it is not the one that was delivered to it.
    mutating func acknowledge(_ id: [UInt8], of queue: Int64, by client: Client) -> Int64? {
        guard var subscription = subscriptions[queue], subscription.client === client,
            let message = subscription.message, message.id == id
        else { return nil }
        subscription.message = nil
        set(queue, subscription)
        return message.number
    }

    /// Whether a queue has a message that its client has no capacity for.
    func isWaiting(_ queue: Int64) -> Bool { subscriptions[queue]?.isWaiting == true }

    /// A client has capacity again: queues that wait for it and are to be begun anew, the oldest first. Those that are of
    /// no interest any more are passed over.
    mutating func ready(_ client: Client, atMost count: Int) -> [Int64] {
        var queues = (waiting[client.number] ?? [])[...]
        var ready: [Int64] = []
        while ready.count < count, let queue = queues.popFirst() {
            guard var subscription = subscriptions[queue], subscription.client === client,
                subscription.isWaiting
            else { continue }
            subscription.isWaiting = false
            set(queue, subscription)
            ready.append(queue)
        }
        waiting[client.number] = queues.isEmpty ? nil : Array(queues)
        return ready
    }
}
