import Agent
import Base
import ChatCore
import ChatProtocol
import Store

/// What the agent of a profile has, by its numbers, until it is known what became of it. The agent may tell that before
/// it is noted here which message a number is: then that waits in the same row.
struct HandedMessageTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    /// What a number is: a message, and the item that suffers when it does not arrive.
    struct Message {
        var id: SharedMessageID?
        var item: ItemID?
        /// Of what went to several members of a group.
        var delivery: Int64?
        /// A file can be found when a server has it.
        var announces = false
    }

    enum Outcome: Equatable {
        /// A server has it. Something else follows, if anything is told.
        case sent
        case delivered
        /// Why not, a sentence.
        case failed(String)
    }

    private enum Word: String, SQLBindable, CaseIterable {
        case sent, delivered, failed
    }

    /// By the clock of the database: nothing is told of a message that is older, except that it was not sent: one that announces a file is waited for.
    private static let age = Duration.seconds(31 * 86_400)

    private static let isMeant = "profile = ? AND connection = ? AND number = ?"

    /// The agent has given a message its number; numbers of a connection rise.
    /// - Returns: what was told of it already.
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
        // What lies below has no message of ours, and never will.
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

    /// What became of a message; its row goes, unless something else is to be told.
    /// - Returns: nil of one that is not known, or not yet.
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
                // From now on it waits for a receipt, as others do.
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

    /// Until it is noted which message it is. Of numbers that were given before the last one, it never will be.
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
    /// From its columns `shared_id` and `item`.
    init(_ row: borrowing Row) {
        id = row.bytesOrNil("shared_id").flatMap { SharedMessageID(bytes: $0) }
        item = row.integerOrNil("item").map { ItemID($0) }
    }
}
