import Base
import SMP
import Store

extension QueueRecords {
    /// Appends a message to a queue.
    func append(_ body: DeliveredBody, id: [UInt8], to queue: Int64) throws {
        switch body {
        case .message(let received, let flags, let body):
            try connection.execute(
                "INSERT INTO message (queue, message_id, received, flags, body) VALUES (?, ?, ?, ?, ?)",
                queue, id, received, flags, body)
        case .quota(let received):
            try connection.execute(
                "INSERT INTO message (queue, message_id, received) VALUES (?, ?, ?)", queue, id, received)
        }
    }

    func messageCount(of queue: Int64) throws -> Int {
        try connection.first("SELECT count(*) AS count FROM message WHERE queue = ?", queue) {
            Int($0.integer("count"))
        } ?? 0
    }

    func hasMessages(_ queue: Int64) throws -> Bool {
        try connection.exists("SELECT 1 FROM message WHERE queue = ?", queue)
    }

    /// Returns the oldest message of a queue.
    func firstMessage(of queue: Int64) throws -> StoredMessage? {
        try connection.first(
            """
            SELECT number, message_id, received, flags, body FROM message WHERE queue = ?
            ORDER BY number LIMIT 1
            """, queue
        ) { row in
            let received = row.integer("received")
            let body = row.bytesOrNil("body").map {
                DeliveredBody.message(received: received, flags: row.bytes("flags"), body: $0)
            }
            return StoredMessage(
                number: row.integer("number"), id: row.bytes("message_id"),
                body: body ?? .quota(received: received))
        }
    }

    /// Deletes a message, if it exists. Returns its bytes of the quota.
    func deleteMessage(_ number: Int64) throws -> UInt64 {
        let length = try connection.first(
            "SELECT coalesce(length(body), 0) AS length FROM message WHERE number = ?", number
        ) { UInt64(clamping: $0.integer("length")) }
        guard let length else { return 0 }
        try connection.execute("DELETE FROM message WHERE number = ?", number)
        return DiskUse.message + length
    }

    /// Deletes up to `limit` messages received before `time`, in seconds since 1970. Emptied queues are no longer full.
    /// Returns their number and bytes of the quota.
    func deleteMessages(receivedBefore time: Int64, limit: Int) throws -> (count: Int, bytes: UInt64) {
        let old = try connection.query(
            "SELECT number, queue FROM message WHERE received < ? ORDER BY received LIMIT ?", time, limit
        ) { (number: $0.integer("number"), queue: $0.integer("queue")) }
        var bytes: UInt64 = 0
        for message in old { bytes += try deleteMessage(message.number) }
        for queue in Set(old.map(\.queue)) where try !hasMessages(queue) { try setFull(false, queue) }
        return (old.count, bytes)
    }
}
