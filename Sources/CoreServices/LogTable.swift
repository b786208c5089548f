import Base
import ChatCore
import Store

/// A table with the lines of chat logs: `chat`, `position` (byte offset, NULL outside of the log), `line`, `written`.
public protocol LogTable {
    static var name: String { get }
    var connection: Connection { get }
}

extension LogTable {
    /// Returns nil for a chat without a line in its log.
    public func log(of chat: some SQLBindable) throws -> MessageLog? {
        try connection.first(
            """
            SELECT position + length(line) AS size, written FROM \(Self.name)
            WHERE chat = ? AND position IS NOT NULL ORDER BY position DESC LIMIT 1
            """, chat
        ) { MessageLog(size: $0.unsigned("size"), modified: $0.timestamp("written")) }
    }

    /// Returns the length of a log in bytes.
    public func length(of chat: some SQLBindable) throws -> Int64 {
        Int64(clamping: try log(of: chat)?.size ?? 0)
    }

    /// Returns up to `count` bytes of a log from `offset`.
    public func bytes(of chat: some SQLBindable, from offset: UInt64, count: Int) throws -> [UInt8] {
        guard let start = Int64(exactly: offset), count > 0 else { return [] }
        let end = start &+ Int64(count) < start ? Int64.max : start + Int64(count)
        let lines = try connection.query(
            """
            SELECT position, line FROM \(Self.name) WHERE chat = ? AND position < ? AND position >=
                (SELECT max(position) FROM \(Self.name) WHERE chat = ? AND position <= ?)
            ORDER BY position
            """, chat, end, chat, start
        ) { (position: $0.integer("position"), line: $0.bytes("line")) }
        var bytes: [UInt8] = []
        for (position, line) in lines {
            let first = max(start - position, 0)
            let last = min(end - position, Int64(line.count))
            if first < last { bytes += line[Int(first)..<Int(last)] }
        }
        return bytes
    }

    /// Gives a log a later modification time after a change within it, also if the clock was set back. The kernel would
    /// keep its bytes otherwise.
    public func touch(_ chat: some SQLBindable, at time: Timestamp) throws {
        try connection.execute(
            """
            UPDATE \(Self.name) SET written = max(written + 1, ?) WHERE chat = ? AND position =
                (SELECT max(position) FROM \(Self.name) WHERE chat = ?)
            """, time, chat, chat)
    }

    /// Returns a replacement of the same length for a line that is gone, so that later offsets stay valid.
    /// - Parameters:
    ///   - id: The id of the message, of characters that JSON does not escape.
    ///   - member: The id of its author in a group, of such characters. Omitted if the line is too short for it.
    public static func blank(_ id: String, by member: String? = nil, length: Int) -> [UInt8] {
        let front = #"{"event":"disappeared","id":"\#(id)""#
        let long = front + (member.map { #","member":"\#($0)""# } ?? "") + "}"
        let text = long.utf8.count < length ? long : front + "}"
        let left = Array(text.utf8.prefix(max(length - 1, 0)))
        let padding = [UInt8](repeating: UInt8(ascii: " "), count: max(length - 1 - left.count, 0))
        return left + padding + [UInt8(ascii: "\n")]
    }
}
