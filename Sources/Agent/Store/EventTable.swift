import Base
import Store

/// Unacknowledged events, within one transaction.
struct EventTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    private enum Kind: String, SQLBindable {
        case requested, connecting, connected, received, sent, delivered, delayed, messageFailed
        case connectionFailed, conditionChanged, deleted
    }

    /// Columns of an event.
    private struct Columns {
        var kind: Kind
        var subject: Int64?
        var body: [UInt8]?
        var detail: String?
    }

    /// Contents of a receipt for a received message.
    struct ReceiptMaterial {
        var connection: ConnectionID
        var receipt: MessageContent.Receipt
    }

    /// Makes the next event's number higher than `number`.
    func begin(after number: Int64) throws {
        guard number > 0 else { return }
        let isThere = try connection.exists("SELECT 1 FROM sqlite_sequence WHERE name = 'event'")
        try connection.execute(
            isThere
                ? "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'event'"
                : "INSERT INTO sqlite_sequence (seq, name) VALUES (?, 'event')", number)
    }

    func append(_ content: AgentEvent.Content, of id: ConnectionID) throws -> AgentEvent {
        if case .received(let message) = content {
            return try append(message, receipt: nil, of: id)
        }
        let columns = Self.columns(of: content)
        try connection.execute(
            "INSERT INTO event (connection, kind, subject, body, detail) VALUES (?, ?, ?, ?, ?)", id.number,
            columns.kind, columns.subject, columns.body, columns.detail)
        return AgentEvent(number: connection.lastInsertedID, connection: id, content: content)
    }

    func append(
        _ message: ReceivedMessage, receipt: MessageContent.Receipt?, of id: ConnectionID
    ) throws -> AgentEvent {
        var (detail, missing): (String, ClosedRange<Int64>?) = ("complete", nil)
        switch message.integrity {
        case .complete: break
        case .skipped(let numbers): (detail, missing) = ("skipped", numbers)
        case .numberRepeated: detail = "numberRepeated"
        case .wrongHash: detail = "wrongHash"
        }
        try connection.execute(
            """
            INSERT INTO event (connection, kind, body, detail, time, first_missing, last_missing, message_number,
                hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, id.number, Kind.received, message.body, detail, message.received, missing?.lowerBound,
            missing?.upperBound, receipt?.number, receipt?.hash)
        return AgentEvent(number: connection.lastInsertedID, connection: id, content: .received(message))
    }

    /// Returns unacknowledged events in order.
    /// - Parameters:
    ///   - number: last number of the previous page.
    ///   - limit: maximum number of events.
    func events(after number: Int64, limit: Int) throws -> [AgentEvent] {
        try connection.query(Self.page, number, limit) { row in
            AgentEvent(
                number: row.integer("number"), connection: ConnectionID(row.integer("connection")),
                content: try Self.content(row), reason: row.textOrNil("reason"))
        }
    }

    /// Like `events`, with nil for each damaged event.
    func readable(after number: Int64, limit: Int) throws -> [(number: Int64, event: AgentEvent?)] {
        try connection.query(Self.page, number, limit) { row in
            let (number, id) = (row.integer("number"), ConnectionID(row.integer("connection")))
            let (content, reason) = (try? Self.content(row), row.textOrNil("reason"))
            return (
                number,
                content.map { AgentEvent(number: number, connection: id, content: $0, reason: reason) }
            )
        }
    }

    private static let page = """
        SELECT e.*, c.reason FROM event e LEFT JOIN connection c ON c.id = e.connection
        WHERE e.number > ? ORDER BY e.number LIMIT ?
        """

    /// Deletes an acknowledged event. Returns the receipt's contents if it was a message.
    func take(_ number: Int64) throws -> ReceiptMaterial? {
        let material = try connection.first(
            "SELECT connection, message_number, hash FROM event WHERE number = ? AND hash IS NOT NULL", number
        ) { row in
            ReceiptMaterial(
                connection: ConnectionID(row.integer("connection")),
                receipt: .init(number: row.integer("message_number"), hash: row.bytes("hash")))
        }
        try connection.execute("DELETE FROM event WHERE number = ?", number)
        return material
    }

    // MARK: - Columns

    private static func columns(of content: AgentEvent.Content) -> Columns {
        switch content {
        case .requested(let request, let information):
            Columns(kind: .requested, subject: request.number, body: information)
        case .connecting(let information): Columns(kind: .connecting, body: information)
        case .connected(let information): Columns(kind: .connected, body: information)
        case .received(let message): Columns(kind: .received, body: message.body)
        case .sent(let message): Columns(kind: .sent, subject: message)
        case .delivered(let message): Columns(kind: .delivered, subject: message)
        case .delayed(let message, let reason):
            Columns(kind: .delayed, subject: message, detail: reason.rawValue)
        case .messageFailed(let message, let reason):
            Columns(kind: .messageFailed, subject: message, detail: reason.rawValue)
        case .connectionFailed(let reason): Columns(kind: .connectionFailed, detail: reason.rawValue)
        case .conditionChanged(let condition): Columns(kind: .conditionChanged, detail: condition.stored)
        case .deleted: Columns(kind: .deleted)
        }
    }

    private static func content(_ row: borrowing Row) throws -> AgentEvent.Content {
        let (subject, body) = (row.integer("subject"), row.bytes("body"))
        switch try row.value("kind", as: Kind.self) {
        case .requested: return .requested(ContactRequestID(subject), information: body)
        case .connecting: return .connecting(information: body)
        case .connected: return .connected(information: body)
        case .received:
            return .received(
                ReceivedMessage(
                    body: body, received: row.timestamp("time"), integrity: try integrity(row)))
        case .sent: return .sent(message: subject)
        case .delivered: return .delivered(message: subject)
        case .delayed: return .delayed(message: subject, try reason(row))
        case .messageFailed: return .messageFailed(message: subject, try reason(row))
        case .connectionFailed: return .connectionFailed(try reason(row))
        case .conditionChanged:
            guard let condition = ConnectionCondition(stored: row.text("detail")) else {
                throw AgentError.damagedState
            }
            return .conditionChanged(condition)
        case .deleted: return .deleted
        }
    }

    private static func reason(_ row: borrowing Row) throws -> FailureReason {
        try row.value("detail", as: FailureReason.self)
    }

    private static func integrity(_ row: borrowing Row) throws -> MessageIntegrity {
        switch row.text("detail") {
        case "complete": return .complete
        case "numberRepeated": return .numberRepeated
        case "wrongHash": return .wrongHash
        case "skipped":
            let (first, last) = (row.integer("first_missing"), row.integer("last_missing"))
            guard first <= last else { throw AgentError.damagedState }
            return .skipped(first...last)
        default: throw AgentError.damagedState
        }
    }
}

extension ConnectionCondition {
    /// Six words; earlier releases wrote the first five.
    fileprivate var stored: String {
        "\(phase.rawValue) \(synchronisation.rawValue) \(isRotating) \(isGone) \(isTakenOver) \(isRefused)"
    }

    fileprivate init?(stored text: String) {
        let words = text.split(separator: " ")
        guard (5...6).contains(words.count), let phase = Phase(rawValue: String(words[0])),
            let synchronisation = RatchetSyncPhase(rawValue: String(words[1])),
            let isRotating = Bool(String(words[2])), let isGone = Bool(String(words[3])),
            let isTakenOver = Bool(String(words[4])),
            let isRefused = words.count == 5 ? false : Bool(String(words[5]))
        else { return nil }
        self.init(
            phase: phase, synchronisation: synchronisation, isRotating: isRotating, isGone: isGone,
            isRefused: isRefused, isTakenOver: isTakenOver)
    }
}
