import Base
import JSON

/// One message as programs of people exchange it: `{"v":"1-16","msgId":"…","event":"x.…","params":{…}}`.
public struct ChatMessage: Hashable, Sendable {
    /// The versions of the chat protocol that its sender speaks; nil where it does not say so, which means 1.
    public var versions: ClosedRange<UInt16>?
    /// By which later messages can mean this one. Each message has one of its own, also those that change another.
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

    /// Reads a message; nil when it is none, or an event that is known has parameters that make no sense.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count <= ProtocolLimits.inflated, let json = JSONValue.parse(bytes) else { return nil }
        self.init(json)
    }

    /// Reads what this program has written of a message into its store: as long as it is, for what came within the limit
    /// may be longer with other escapes.
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
