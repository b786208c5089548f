import Agent
import Base
import ChatCore
import ChatProtocol
import Store

/// Messages passed to the agent, by its numbers, until their results are known. A result that comes before
/// its number is recorded waits in the same row.
struct HandedMessageTable {
    let connection: Connection
    let profile: Int64

    /// A message, and the item that fails with it.
    struct Message {
        var id: SharedMessageID?
        var item: ItemID?
        /// Id in `GroupDeliveryTable` for messages to several group members.
        var delivery: Int64?
        /// Whether it announces a file.
        var announces = false
    }

    enum Outcome: Equatable {
        /// A server has accepted it. Another result may follow.
        case sent
        case delivered
        /// The reason, as a sentence.
        case failed(String)
    }

    private enum Word: String, SQLBindable, CaseIterable {
        case sent, delivered, failed
    }

    /// Retention by the database's clock. Messages that announce files are kept longer.
    private static let age = Duration.seconds(31 * 86_400)

    private static let isMeant = "profile = ? AND connection = ? AND number = ?"

    /// Records the number given by the agent. Numbers of a connection rise.
    /// - Returns: a result that came earlier.
    func note(
        _ message: Message, of id: ConnectionID, as number: Int64, at time: ElapsedTime
    ) throws -> Outcome? {
        let early = try connection.first(
            "SELECT outcome, problem FROM handed_message WHERE \(Self.isMeant)", profile, id.number, number
        ) { row -> Outcome? in
            switch try row.valueOrNil("outcome", as: Word.self) {
            case .sent: .sent
            case .delivered: .delivered
            case .failed: .failed(row.text("problem"))
            case nil: nil
            }
        }
        // Older results belong to messages that are not ours.
        try connection.execute(
            """
            DELETE FROM handed_message WHERE profile = ? AND connection = ? AND number <= ? AND outcome IS NOT NULL
            """, profile, id.number, number)
        try connection.execute(
            "UPDATE connection SET handed = max(handed, ?) WHERE profile = ? AND number = ?", number, profile,
            id.number)
        let told = early ?? nil
        if let told, told != .sent { return told }
        try connection.execute(
            "DELETE FROM handed_message WHERE profile = ? AND noted < ? AND announces = 0", profile,
            time.advanced(by: .zero - Self.age))
        guard message.id != nil || message.item != nil || message.delivery != nil else { return told }
        try connection.execute(
            """
            INSERT OR IGNORE INTO handed_message
            (profile, connection, number, shared_id, item, delivery, announces, noted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """, profile, id.number, number, message.id?.bytes, message.item?.rawValue, message.delivery,
            message.announces && told != .sent, time)
        return told
    }

    /// Applies a result. Deletes the row unless another result may follow.
    /// - Returns: nil for a message that is unknown, or not recorded yet.
    func take(
        _ outcome: Outcome, of id: ConnectionID, number: Int64, at time: ElapsedTime
    ) throws -> Message? {
        let found = try connection.first(
            """
            SELECT shared_id, item, delivery, announces FROM handed_message
            WHERE \(Self.isMeant) AND outcome IS NULL
            """, profile, id.number, number
        ) { row in
            var message = Message(row)
            message.delivery = row.integerOrNil("delivery")
            message.announces = row.bool("announces")
            return message
        }
        if found != nil {
            guard outcome != .sent else {
                // Then it waits for a receipt.
                try connection.execute(
                    "UPDATE handed_message SET announces = 0 WHERE \(Self.isMeant)", profile, id.number,
                    number)
                return found
            }
            try connection.execute(
                "DELETE FROM handed_message WHERE \(Self.isMeant)", profile, id.number, number)
        } else {
            try keep(outcome, of: id, number: number, at: time)
        }
        return found
    }

    /// Keeps a result until its message is recorded. Ignores numbers below the last recorded one.
    private func keep(
        _ outcome: Outcome, of id: ConnectionID, number: Int64, at time: ElapsedTime
    ) throws {
        let (word, problem): (Word, String?) =
            switch outcome {
            case .sent: (.sent, nil)
            case .delivered: (.delivered, nil)
            case .failed(let sentence): (.failed, sentence)
            }
        try connection.execute(
            """
            INSERT INTO handed_message (profile, connection, number, outcome, problem, noted)
            SELECT profile, number, ?, ?, ?, ? FROM connection WHERE profile = ? AND number = ? AND handed < ?
            ON CONFLICT DO UPDATE SET outcome = excluded.outcome, problem = excluded.problem WHERE outcome = 'sent'
            """, number, word, problem, time, profile, id.number, number)
    }
}

extension HandedMessageTable.Message {
    /// From the columns `shared_id` and `item`.
    init(_ row: borrowing Row) {
        id = row.bytesOrNil("shared_id").flatMap { SharedMessageID(bytes: $0) }
        item = row.integerOrNil("item").map { ItemID($0) }
    }
}
