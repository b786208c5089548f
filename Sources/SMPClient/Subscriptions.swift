import SMP

/// The subscribed queues of one connection, and the queues with messages left on the server.
struct Subscriptions {
    private var keys: [[UInt8]: CommandKey] = [:]
    private var held: Set<[UInt8]> = []

    var isEmpty: Bool { keys.isEmpty }

    /// Adds the queue of a request. Messages may come from now on.
    mutating func asked(_ request: ClientRequest) {
        guard case .subscribe = request.command, let key = request.key else { return }
        keys[request.entityID] = key
    }

    mutating func answered(_ request: ClientRequest, _ answer: Answer) {
        switch (request.command, answer) {
        case (.subscribe, .error), (.delete, .ok): remove(request.entityID)
        case (.new(let queue), .created(let ids)):
            if queue.subscribes, let key = request.key { keys[ids.recipientID] = key }
        default: break
        }
    }

    func contains(_ recipientID: [UInt8]) -> Bool { keys[recipientID] != nil }

    /// Removes a queue. Returns whether it was subscribed.
    @discardableResult
    mutating func remove(_ recipientID: [UInt8]) -> Bool {
        held.remove(recipientID)
        return keys.removeValue(forKey: recipientID) != nil
    }

    /// Notes a message without capacity. The server repeats it after the next subscription.
    mutating func hold(_ recipientID: [UInt8]) { held.insert(recipientID) }

    var hasHeld: Bool { !held.isEmpty }

    /// Returns requests that bring some of those messages.
    mutating func takeHeld(atMost count: Int) -> [ClientRequest] {
        let some = held.prefix(count)
        held.subtract(some)
        return some.compactMap { id in
            keys[id].map {
                ClientRequest(.subscribe, of: id, key: $0, timeout: ClientRequest.backgroundTimeout)
            }
        }
    }
}

extension ClientRequest {
    /// Whether the command subscribes to messages.
    var subscribes: Bool {
        switch command {
        case .subscribe: true
        case .new(let queue): queue.subscribes
        default: false
        }
    }
}
