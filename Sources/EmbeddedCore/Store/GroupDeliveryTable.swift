import Base
import ChatCore
import ChatProtocol
import Store

/// Results of messages sent to several group members, until the result for each member is known.
struct GroupDeliveryTable {
    let connection: Connection

    /// Retention by the database's clock.
    private static let age = Duration.seconds(31 * 86_400)

    /// Records a message sent to this many members.
    /// - Returns: the id for later results.
    func begin(
        _ message: HandedMessageTable.Message, in chat: Int64, to members: Int, at time: ElapsedTime
    ) throws -> Int64 {
        try connection.execute(
            "DELETE FROM group_delivery WHERE chat = ? AND sent < ?", chat,
            time.advanced(by: .zero - Self.age))
        try connection.execute(
            "INSERT INTO group_delivery (chat, shared_id, item, awaited, sent) VALUES (?, ?, ?, ?, ?)", chat,
            message.id?.bytes, message.item?.rawValue, members, time)
        return connection.lastInsertedID
    }

    /// A message with its overall result.
    struct Settled {
        var chat: Int64
        var message: HandedMessageTable.Message
        var outcome: HandedMessageTable.Outcome
    }

    /// Returns the item that fails if the message does.
    func item(of delivery: Int64) throws -> ItemID? {
        try connection.first("SELECT item FROM group_delivery WHERE id = ?", delivery) { row in
            row.integerOrNil("item").map { ItemID($0) }
        } ?? nil
    }

    /// Records the result for one member.
    /// - Returns: the message and overall result once all are known. It is delivered if any member received
    ///   it.
    func note(
        _ outcome: HandedMessageTable.Outcome, of delivery: Int64
    ) throws -> Settled? {
        switch outcome {
        case .sent: return nil
        case .delivered:
            try connection.execute(
                "UPDATE group_delivery SET awaited = awaited - 1, delivered = delivered + 1 WHERE id = ?",
                delivery)
        case .failed(let sentence):
            try connection.execute(
                "UPDATE group_delivery SET awaited = awaited - 1, problem = ? WHERE id = ?", sentence,
                delivery)
        }
        let settled = try connection.first(
            "SELECT chat, shared_id, item, delivered, problem FROM group_delivery WHERE id = ? AND awaited <= 0",
            delivery
        ) { row in
            Settled(
                chat: row.integer("chat"),
                message: HandedMessageTable.Message(row),
                outcome: row.integer("delivered") > 0
                    ? .delivered : .failed(row.textOrNil("problem") ?? ""))
        }
        guard let settled else { return nil }
        try connection.execute("DELETE FROM group_delivery WHERE id = ?", delivery)
        return settled
    }
}
