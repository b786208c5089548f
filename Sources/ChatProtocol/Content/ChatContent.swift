import JSON

/// Content of a message (`content` of x.msg.new).
public struct ChatContent: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case text
        case link(LinkPreview)
        /// A data URI of at most 14,000 characters; empty without a valid one.
        case image(preview: String)
        case video(preview: String, seconds: Int)
        case voice(seconds: Int)
        case file
        /// A report of a message to a group's moderators.
        case report(reason: String)
        /// A contact or group card; the text contains its link.
        case chat
        /// From a later version; the text describes it.
        case unknown(type: String)
    }

    public var kind: Kind
    public var text: String

    public init(_ kind: Kind, text: String = "") {
        self.kind = kind
        self.text = text
    }

    /// A preview of a linked page.
    public struct LinkPreview: Hashable, Sendable {
        public var address: String
        public var title: String
        public var description: String
        /// Data URI as in `image`.
        public var image: String
    }
}

extension ChatContent {
    /// nil without a type. A missing text is empty.
    init?(_ json: JSONValue) {
        guard let type = json["type"]?.name else { return nil }
        let preview = json["image"]?.picture(limit: ProtocolLimits.preview) ?? ""
        // At most a day, which rules out overflow.
        let seconds = Int(min(json["duration"]?.size ?? 0, 86_400))
        let kind: Kind =
            switch type {
            case "text": .text
            case "link": json["preview"].map { .link(LinkPreview($0)) } ?? .text
            case "image": .image(preview: preview)
            case "video": .video(preview: preview, seconds: seconds)
            case "voice": .voice(seconds: seconds)
            case "file": .file
            case "report": .report(reason: json["reason"]?.name ?? "")
            case "chat": .chat
            default: .unknown(type: type)
            }
        self.init(kind, text: json["text"]?.string ?? "")
    }

    var json: String {
        let said = JSONText.string(text)
        switch kind {
        case .text, .chat: return Self.object("text", said)
        case .link(let preview): return Self.object("link", said, ("preview", preview.json))
        case .image(let preview): return Self.object("image", said, ("image", JSONText.string(preview)))
        case .video(let preview, let seconds):
            return Self.object(
                "video", said, ("image", JSONText.string(preview)), ("duration", String(seconds)))
        case .voice(let seconds): return Self.object("voice", said, ("duration", String(seconds)))
        case .file: return Self.object("file", said)
        case .report(let reason): return Self.object("report", said, ("reason", JSONText.string(reason)))
        // Unknown types are sent as text.
        case .unknown: return Self.object("text", said)
        }
    }

    private static func object(_ type: String, _ text: String, _ more: (String, String)...) -> String {
        let members = [("type", JSONText.string(type)), ("text", text)] + more
        return "{" + members.map { JSONText.string($0.0) + ":" + $0.1 }.joined(separator: ",") + "}"
    }
}

extension ChatContent.LinkPreview {
    init(_ json: JSONValue) {
        self.init(
            address: json["uri"]?.string ?? "", title: json["title"]?.string ?? "",
            description: json["description"]?.string ?? "",
            image: json["image"]?.picture(limit: ProtocolLimits.preview) ?? "")
    }

    var json: String {
        JSONText.object([
            "uri": JSONText.string(address), "title": JSONText.string(title),
            "description": JSONText.string(description), "image": JSONText.string(image),
        ])
    }
}
