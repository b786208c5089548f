import JSON

/// What somebody says of themselves (`profile`).
public struct ContactProfile: Hashable, Sendable {
    /// As they wrote it; whoever shows it makes it safe. Never empty.
    public var displayName: String
    public var fullName: String
    public var shortDescription: String?
    /// A data URI of at most 12,500 characters.
    public var image: String?
    /// Their address. A secret.
    public var contactLink: String?
    public var preferences: Preferences
    public var isBot: Bool

    public init(
        displayName: String, fullName: String = "", shortDescription: String? = nil, image: String? = nil,
        contactLink: String? = nil, preferences: Preferences = Preferences(), isBot: Bool = false
    ) {
        self.displayName = displayName
        self.fullName = fullName
        self.shortDescription = shortDescription
        self.image = image
        self.contactLink = contactLink
        self.preferences = preferences
        self.isBot = isBot
    }

    /// nil without a name.
    init?(_ json: JSONValue) {
        guard let name = json["displayName"]?.name, !name.isEmpty else { return nil }
        self.init(
            displayName: name, fullName: json["fullName"]?.name ?? "",
            shortDescription: json["shortDescr"]?.name,
            image: json["image"]?.picture(limit: ProtocolLimits.profilePicture),
            contactLink: json["contactLink"]?.link,
            preferences: json["preferences"].map(Preferences.init) ?? Preferences(),
            isBot: json["peerType"]?.string == "bot")
    }

    var json: String {
        JSONText.object(present: [
            "displayName": JSONText.string(displayName), "fullName": JSONText.string(fullName),
            "shortDescr": shortDescription.map { JSONText.string($0) },
            "image": image.flatMap { JSONText.picture($0, limit: ProtocolLimits.profilePicture) },
            "contactLink": contactLink.map { JSONText.string($0) }, "preferences": preferences.json,
            "peerType": isBot ? JSONText.string("bot") : nil,
        ])
    }

    /// As members of groups get it: without what would tell more than the name and the picture.
    public var forGroups: ContactProfile {
        var profile = self
        (profile.contactLink, profile.preferences) = (nil, Preferences())
        return profile
    }
}

/// What somebody allows in their chats (`preferences`). Nothing is said of what is nil; then the default holds.
public struct Preferences: Hashable, Sendable {
    public enum Allowed: String, Hashable, Sendable {
        case always
        /// If the other side allows it too.
        case yes
        case no
    }

    public enum Feature: String, CaseIterable, Hashable, Sendable {
        case timedMessages, fullDelete, reactions, voice, files, calls, sessions

        /// What holds where nothing is said.
        public var allowedByDefault: Allowed {
            switch self {
            case .timedMessages, .reactions, .voice, .calls: .yes
            case .fullDelete, .sessions: .no
            case .files: .always
            }
        }
    }

    private var said: [Feature: Allowed] = [:]
    /// Seconds after which messages disappear; said only where `timedMessages` is.
    public var timeToLive: Int?

    public init() {}

    public subscript(feature: Feature) -> Allowed? {
        get { said[feature] }
        set { said[feature] = newValue }
    }

    /// Whether who has these lets the other, who has `others`, use a feature.
    public func allow(_ feature: Feature, to others: Preferences) -> Bool {
        switch said[feature] ?? feature.allowedByDefault {
        case .always: true
        case .yes: (others.said[feature] ?? feature.allowedByDefault) != .no
        case .no: false
        }
    }

    init(_ json: JSONValue) {
        for (name, value) in json.members {
            guard let feature = Feature(rawValue: name) else { continue }
            said[feature] = value["allow"]?.string.flatMap(Allowed.init)
        }
        timeToLive = json["timedMessages"]?["ttl"]?.timeToLive
    }

    /// nil where nothing is said.
    var json: String? {
        let members = Feature.allCases.compactMap { feature -> String? in
            guard let allowed = said[feature] else { return nil }
            let time = feature == .timedMessages ? timeToLive.map { String($0) } : nil
            let value = JSONText.object(present: ["allow": JSONText.string(allowed.rawValue), "ttl": time])
            return JSONText.string(feature.rawValue) + ":" + value
        }
        return members.isEmpty ? nil : "{" + members.joined(separator: ",") + "}"
    }
}
