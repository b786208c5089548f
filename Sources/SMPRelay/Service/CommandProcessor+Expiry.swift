import SMP

/// What goes by itself, and what the operator has go.
extension CommandProcessor {
    /// Forgets messages that are too old, and queues that went out of use, some at a time; false when there are no more.
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

    /// Forgets queues that went out of use, some at a time; those to which somebody has subscribed are in use. Answers how
    /// many it looked at, and how many it forgot.
    mutating func forgetQueues(
        madeBefore: Int64, usedBefore: Int64, _ records: QueueRecords
    ) throws -> (looked: Int, forgotten: Int) {
        let queues = try records.queuesOutOfUse(
            madeBefore: madeBefore, usedBefore: usedBefore, limit: Self.queuesAtOnce)
        var forgotten = 0
        for queue in queues {
            if deliveries.client(of: queue.id) != nil {
                try records.noteUse(of: queue.id, at: useTime)
            } else {
                try forget(queue, records)
                forgotten += 1
            }
        }
        return (queues.count, forgotten)
    }

    /// Forgets queues, whoever has subscribed, some at a time. Answers how many.
    mutating func forgetAnyQueues(_ records: QueueRecords) throws -> Int {
        let queues = try records.anyQueues(limit: Self.queuesAtOnce)
        for queue in queues { try forget(queue, records) }
        return queues.count
    }

    /// Forgets a queue. Answers who had subscribed to it.
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

    /// What is noted as the time of a use: rounded down, so that the records tell little and are seldom written because of
    /// it. A day, as in the official server, or less where queues stay for less than 24.
    var useTime: Int64 {
        let now = settings.clock.now().seconds
        return now - now % min(86_400, max(1, settings.unusedQueues.components.seconds / 24))
    }
}
