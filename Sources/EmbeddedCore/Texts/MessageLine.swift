import Base
import ChatCore
import ChatProtocol
import JSON
import Store

/// A line of a chat's log. Lines never change; later events of a message get their own lines.
struct MessageLine {
    enum Event: String, SQLBindable, CaseIterable {
        case message
        case edit
        case deletion
        case state
        /// The contact or group owner changed how long messages stay.
        case retention
        /// New keys were agreed on; the security code changed.
        case keys
    }

    /// The file of a message.
    struct File {
        var name: String
        var size: UInt64
        var item: ItemID
    }

    var event: Event
    /// Message that the line is about.
    var id: SharedMessageID
    /// Author of that message.
    var author: Author
    /// Expiry; nil for never, or for a message with an item.
    var disappears: Timestamp?
    var time: Timestamp
    /// Direction of the message.
    var direction: ChatItem.Direction
    var sender: String
    var content: ChatContent?
    var quote: Quote?
    var file: File?
    var isForwarded = false
    /// Whether the message is still being written; edits follow.
    var isLive = false
    /// Whether only a group's moderators and one member see it.
    var isForModerators = false
    /// For `state`: the result of a sent message, and an error.
    var state: String?
    var error: String?
    /// For `retention`: seconds; nil keeps messages.
    var timeToLive: Int64?

    init(
        _ event: Event, of id: SharedMessageID, at time: Timestamp, _ direction: ChatItem.Direction,
        by sender: String, _ content: ChatContent? = nil
    ) {
        self.event = event
        self.id = id
        self.time = time
        self.direction = direction
        self.sender = sender
        self.content = content
        author = direction == .sent ? .own : .contact
    }

    /// The author's id in a group. Members choose the ids of their messages, so two may use the same.
    private var member: String? { if case .member(let id) = author { id.text } else { nil } }

    /// The encoded line with its line break. Equal values give equal bytes.
    var bytes: [UInt8] {
        let text = JSONText.object(present: [
            "event": JSONText.string(event.rawValue), "id": JSONText.string(id.text),
            "time": JSONText.string(time.iso8601),
            "direction": JSONText.string(direction == .sent ? "sent" : "received"),
            "member": member.map { JSONText.string($0) },
            "sender": JSONText.string(sender), "type": content.map { JSONText.string($0.typeName) },
            "text": content.map { JSONText.string($0.text) }, "quote": quote.map(Self.json),
            "file": file.map(Self.json), "forwarded": isForwarded ? "true" : nil,
            "live": isLive ? "true" : nil, "scope": isForModerators ? JSONText.string("support") : nil,
            "state": state.map { JSONText.string($0) },
            "error": error.map { JSONText.string($0) }, "ttl": timeToLive.map { String($0) },
        ])
        return Array(PrintableJSON.escaping(text).utf8) + [UInt8(ascii: "\n")]
    }

    private static func json(_ quote: Quote) -> String {
        JSONText.object(present: [
            "id": quote.id.map { JSONText.string($0.text) }, "time": JSONText.string(quote.sentAt.iso8601),
            "by": JSONText.string(quote.isOwn ? "sender" : "recipient"),
            "text": JSONText.string(quote.content.text),
        ])
    }

    private static func json(_ file: File) -> String {
        JSONText.object([
            "name": JSONText.string(file.name), "size": String(file.size),
            "item": String(file.item.rawValue),
        ])
    }
}

extension ChatContent {
    fileprivate var typeName: String {
        switch kind {
        case .text: "text"
        case .link: "link"
        case .image: "image"
        case .video: "video"
        case .voice: "voice"
        case .file: "file"
        case .report: "report"
        case .chat: "chat"
        case .unknown(let type): type
        }
    }
}
