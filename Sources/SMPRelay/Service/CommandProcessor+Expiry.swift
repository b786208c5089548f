import SMP

/// Expiry, and deletion by the operator.
extension CommandProcessor {
    /// Deletes a batch of old messages and unused queues. Returns whether more may remain.
    mutating func expire(_ records: QueueRecords) throws -> Bool {
        let now = settings.clock.now().seconds
        allowances.forgetFull(now: now)
        let deleted = try records.deleteMessages(
            receivedBefore: now - settings.expiry.components.seconds, limit: 200)
        disk.remove(deleted.bytes)
        if deleted.count == 200 { return true }
        let unused = now - settings.unusedQueues.components.seconds
        let idle = now - settings.idleQueues.components.seconds
        return try forgetQueues(madeBefore: unused, usedBefore: idle, records).looked == Self.queuesAtOnce
    }

    static let queuesAtOnce = 50

    /// Deletes a batch of unused queues. Queues with a subscriber count as used. Returns the numbers of examined and
    /// deleted queues.
    mutating func forgetQueues(
        madeBefore: Int64, usedBefore: Int64, _ records: QueueRecords
    ) throws -> (looked: Int, forgotten: Int) {
        let queues = try records.queuesOutOfUse(
            madeBefore: madeBefore, usedBefore: usedBefore, limit: Self.queuesAtOnce)
        var forgotten = 0
        for queue in queues {
            if deliveries.client(of: queue.id) != nil {
                // Not earlier than the limit, so that the next batch has other queues.
                try records.noteUse(of: queue.id, at: max(useTime, usedBefore))
            } else {
                try forget(queue, records)
                forgotten += 1
            }
        }
        return (queues.count, forgotten)
    }

    /// Deletes a batch of queues, with or without subscriber. Returns their number.
    mutating func forgetAnyQueues(_ records: QueueRecords) throws -> Int {
        let queues = try records.anyQueues(limit: Self.queuesAtOnce)
        for queue in queues { try forget(queue, records) }
        return queues.count
    }

    /// Deletes a queue. Returns its former subscriber.
    @discardableResult
    mutating func forget(
        _ queue: QueueRecord, _ records: QueueRecords, by owner: Client? = nil
    ) throws -> Client? {
        disk.remove(try records.usedBytes(of: queue.id))
        try records.delete(queue.id)
        guard let subscriber = deliveries.unsubscribe(queue.id), subscriber !== owner else { return nil }
        replies.inform(subscriber, .deleted, of: queue)
        return subscriber
    }

    /// The recorded time of a use, rounded down so that records reveal little and are rarely written. A day as in the
    /// official server, or less if queues expire within 24 days.
    var useTime: Int64 {
        let now = settings.clock.now().seconds
        let age = min(settings.unusedQueues, settings.idleQueues)
        return now - now % min(86_400, max(1, age.components.seconds / 24))
    }
}
