import Base
import ChatCore
import Notifications

/// Reads new lines of the chats' logs for notifications. Thread-safe; each line is read once.
final class NotifiedTexts: Sendable {
    /// Read offset of each log in bytes; nil before `follow`.
    private let ends = Lock<[ChatReference: UInt64]?>(nil)

    /// Maximum bytes to read; of a longer addition only the end is read.
    private static let maxBytes: UInt64 = 256 << 10

    /// The relevant fields of a log line (`docs/reference/filesystem.md`, "Log of a chat").
    private struct Line: Decodable {
        struct File: Decodable {}
        var event: String
        var id: String
        var direction: String?
        var member: String?
        var sender: String?
        var text: String?
        var file: File?

        func reference(in chat: ChatReference) -> TextReference { TextReference(id, by: member, in: chat) }
    }

    /// Sets the offsets from which lines are new. Called once.
    func follow(from ends: [ChatReference: UInt64]) { self.ends.withLock { $0 = ends } }

    /// Returns the events of new lines; none before `follow`.
    /// - Parameters:
    ///   - size: Current size of the log in bytes.
    ///   - name: Name of the chat's folder.
    func events(
        of chat: ChatReference, upTo size: UInt64, in core: any ChatCore, named name: String
    ) async -> [NotificationEvent] {
        let start = ends.withLock { ends -> UInt64? in
            guard ends != nil else { return nil }
            let start = ends?[chat] ?? 0
            guard start < size else { return nil }
            ends?[chat] = size
            return start
        }
        guard let start else { return [] }
        let first = max(start, size - min(size, Self.maxBytes))
        var lines = await bytes(of: chat, first..<size, core)[...]
        var position = first
        if first > start { Self.skipLine(&lines, &position) }
        var events: [NotificationEvent] = []
        while let end = lines.firstIndex(of: UInt8(ascii: "\n")) {
            let line = lines[..<end]
            position += UInt64(line.count + 1)
            lines = lines[(end + 1)...]
            // Lines of other forms are not notified.
            guard let line = try? JSONLine.decoded(Line.self, from: Array(line)) else { continue }
            events += Self.event(line, in: chat, end: position, named: name)
        }
        return events
    }

    /// Returns the expired texts among the last lines of a log.
    /// - Parameter size: Current size of the log in bytes.
    func expired(in chat: ChatReference, upTo size: UInt64, of core: any ChatCore) async -> Set<TextReference>
    {
        let end = await bytes(of: chat, (size - min(size, Self.maxBytes))..<size, core)
        let lines = end.split(separator: UInt8(ascii: "\n")).compactMap {
            // Of an incomplete first line, or of another form.
            try? JSONLine.decoded(Line.self, from: Array($0))
        }
        return Set(lines.filter { $0.event == "disappeared" }.map { $0.reference(in: chat) })
    }

    private static func skipLine(_ lines: inout ArraySlice<UInt8>, _ position: inout UInt64) {
        let skipped =
            lines.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 - lines.startIndex } ?? lines.count
        lines = lines.dropFirst(skipped)
        position += UInt64(skipped)
    }

    private static func event(
        _ line: Line, in chat: ChatReference, end: UInt64, named name: String
    ) -> [NotificationEvent] {
        switch line.event {
        case "message":
            guard line.direction == "received", line.file == nil, let text = line.text, !text.isEmpty else {
                return []
            }
            let told = NotifiedFile(
                .text(line.reference(in: chat)), in: chat, named: name, name: "",
                sender: chat.told(sender: line.sender ?? ""), caption: text)
            return [.wrote(told, end: end)]
        // An own message may have the id of a received one.
        case "deletion" where line.direction == "received": return [.gone(.text(line.reference(in: chat)))]
        default: return []
        }
    }

    /// Returns fewer bytes if the log cannot be read further; the rest is not notified.
    private func bytes(
        of chat: ChatReference, _ range: Range<UInt64>, _ core: any ChatCore
    ) async -> [UInt8] {
        var bytes: [UInt8] = []
        while UInt64(bytes.count) < UInt64(range.count) {
            let offset = range.lowerBound + UInt64(bytes.count)
            guard
                let more = try? await core.messageLog(
                    of: chat, from: offset, count: Int(range.upperBound - offset)), !more.isEmpty
            else { break }
            bytes += more
        }
        return bytes
    }
}

extension ChatReference {
    /// Returns the sender's name in groups only. A contact is named by its folder, because it may imitate another
    /// contact.
    func told(sender: String) -> String { if case .group = self { sender } else { "" } }
}
