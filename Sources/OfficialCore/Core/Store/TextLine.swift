import Base
import ChatCore
import CoreServices
import JSON

/// A line in the log of a phone's chat (`docs/reference/filesystem.md`, "Log of a chat").
struct TextLine {
    enum Event: String {
        case message
        case edit
    }

    let item: ItemID
    let text: String
    private let members: @Sendable (Event) -> String

    /// nil for a message without a content or that does not stay: deleted, or a disappearing one.
    init?(_ item: APIItem, own: String, file: ChatFile?) {
        guard let content = item.content, item.deletion == nil, !item.disappears else { return nil }
        self.item = item.id
        text = content.text
        members = { event in
            JSONText.object(present: [
                "event": JSONText.string(event.rawValue), "id": JSONText.string(String(item.id.rawValue)),
                "time": JSONText.string(item.time.iso8601),
                "direction": JSONText.string(item.direction == .sent ? "sent" : "received"),
                "sender": JSONText.string(item.sender ?? own),
                "type": JSONText.string(StoredContentKind.columns(of: content.kind).kind.rawValue),
                "text": JSONText.string(content.text),
                "file": file.map { file in
                    JSONText.object([
                        "name": JSONText.string(file.name), "size": String(file.size),
                        "item": String(item.id.rawValue),
                    ])
                },
                "scope": item.chat.reference.scope.map { _ in JSONText.string("support") },
            ])
        }
    }

    /// The encoded line with its line break.
    func bytes(_ event: Event) -> [UInt8] {
        Array(PrintableJSON.escaping(members(event)).utf8) + [UInt8(ascii: "\n")]
    }

    /// Returns the text of an encoded line; nil for a blank one.
    static func text(of line: [UInt8]) -> String? { JSONValue.parse(line)?["text"]?.string }
}
