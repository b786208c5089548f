import JSON

/// The data of a short link (JSON), readable before connecting.
public enum LinkProfile: Hashable, Sendable {
    /// A person, with an optional welcome message.
    case contact(ContactProfile, message: ChatContent?, isBusiness: Bool)
    case group(GroupProfile)

    /// nil for any other data.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count <= ProtocolLimits.inflated, let json = JSONValue.parse(bytes) else { return nil }
        if let profile = json["profile"].flatMap({ ContactProfile($0) }) {
            self = .contact(
                profile, message: json["message"].flatMap { ChatContent($0) },
                isBusiness: json["business"]?.bool ?? false)
        } else if let group = json["groupProfile"].flatMap({ GroupProfile($0) }) {
            self = .group(group)
        } else {
            return nil
        }
    }

    public var encoded: [UInt8] {
        switch self {
        case .contact(let profile, let message, let isBusiness):
            Array(
                JSONText.object(present: [
                    "profile": profile.json, "message": message?.json, "business": JSONText.bool(isBusiness),
                ]).utf8)
        case .group(let profile): Array(JSONText.object(["groupProfile": profile.json]).utf8)
        }
    }
}
