import JSON

/// A person's profile (`profile`).
public struct ContactProfile: Hashable, Sendable {
    /// Name given by the person; not sanitised. Never empty.
    public var displayName: String
    public var fullName: String
    public var shortDescription: String?
    /// A data URI of at most 12,500 characters.
    public var image: String?
    /// Secret contact address.
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

    /// The profile for group members: name and image only.
    public var forGroups: ContactProfile {
        var profile = self
        (profile.contactLink, profile.preferences) = (nil, Preferences())
        return profile
    }
}

/// A person's preferences for chats (`preferences`). Unset ones have defaults.
public struct Preferences: Hashable, Sendable {
    public enum Allowed: String, Hashable, Sendable {
        case always
        /// If the peer allows it too.
        case yes
        case no
    }

    public enum Feature: String, CaseIterable, Hashable, Sendable {
        case timedMessages, fullDelete, reactions, voice, files, calls, sessions

        /// Default of an unset preference.
        public var allowedByDefault: Allowed {
            switch self {
            case .timedMessages, .reactions, .voice, .calls: .yes
            case .fullDelete, .sessions: .no
            case .files: .always
            }
        }
    }

    private var said: [Feature: Allowed] = [:]
    /// Seconds until messages expire; only with `timedMessages`.
    public var timeToLive: Int?

    public init() {}

    public subscript(feature: Feature) -> Allowed? {
        get { said[feature] }
        set { said[feature] = newValue }
    }

    /// Whether these preferences permit a feature to a peer with `others`.
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

    /// nil if all are unset.
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
