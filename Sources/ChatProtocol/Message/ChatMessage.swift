import Base
import JSON

/// A chat message as exchanged by apps: `{"v":"1-16","msgId":"…","event":"x.…","params":{…}}`.
public struct ChatMessage: Hashable, Sendable {
    /// The sender's chat protocol versions; nil if omitted, which means 1.
    public var versions: ClosedRange<UInt16>?
    /// Id for later references. Each message has its own, updates included.
    public var id: SharedMessageID?
    public var event: MessageEvent

    public init(
        _ event: MessageEvent, id: SharedMessageID?,
        versions: ClosedRange<UInt16>? = ProtocolLimits.versions
    ) {
        self.versions = versions
        self.id = id
        self.event = event
    }

    /// Decodes a message; nil if it is invalid or a known event has invalid parameters.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count <= ProtocolLimits.inflated, let json = JSONValue.parse(bytes) else { return nil }
        self.init(json)
    }

    /// Decodes a message from this program's store. Not limited in size, because other escapes may lengthen a
    /// valid message.
    public init?(stored bytes: [UInt8]) {
        guard let json = JSONValue.parse(bytes) else { return nil }
        self.init(json)
    }

    init?(_ json: JSONValue, isForwarded: Bool = false) {
        guard json.isObject, let name = json["event"]?.name,
            let event = MessageEvent(name, json["params"] ?? .empty, isForwarded: isForwarded)
        else { return nil }
        self.event = event
        versions = json["v"]?.versions
        id = json["msgId"]?.messageID
    }

    public var json: String {
        JSONText.object(present: [
            "v": versions.map { JSONText.string($0) }, "msgId": id.map { JSONText.string($0) },
            "event": JSONText.string(event.name), "params": event.parameters,
        ])
    }
}

extension JSONValue {
    /// For events without parameters.
    fileprivate static let empty: JSONValue = {
        guard let value = JSONValue.parse(Array("{}".utf8)) else { preconditionFailure("this is JSON") }
        return value
    }()
}
