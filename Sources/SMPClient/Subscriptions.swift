import SMP

/// The queues that one connection delivers, and those of them of which a message was left with the server.
struct Subscriptions {
    private var keys: [[UInt8]: CommandKey] = [:]
    private var held: Set<[UInt8]> = []

    var isEmpty: Bool { keys.isEmpty }

    /// A request is on its way: from now on messages may come.
    mutating func asked(_ request: ClientRequest) {
        guard case .subscribe = request.command, let key = request.key else { return }
        keys[request.entityID] = key
    }

    mutating func answered(_ request: ClientRequest, _ answer: Answer) {
        switch (request.command, answer) {
        case (.subscribe, .error), (.delete, .ok): remove(request.entityID)
        case (.create(let queue), .created(let ids)):
            if queue.subscribes, let key = request.key { keys[ids.recipientID] = key }
        default: break
        }
    }

    func contains(_ recipientID: [UInt8]) -> Bool { keys[recipientID] != nil }

    /// Answers whether it was there.
    @discardableResult
    mutating func remove(_ recipientID: [UInt8]) -> Bool {
        held.remove(recipientID)
        return keys.removeValue(forKey: recipientID) != nil
    }

    /// There was no capacity for a message; the server gives it again to who subscribes again.
    mutating func hold(_ recipientID: [UInt8]) { held.insert(recipientID) }

    var hasHeld: Bool { !held.isEmpty }

    /// Requests that bring some of those messages.
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
    /// Whether who asks wants to hear of messages from then on.
    var subscribes: Bool {
        switch command {
        case .subscribe: true
        case .create(let queue): queue.subscribes
        default: false
        }
    }
}
