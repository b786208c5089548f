import JSON

/// A group's profile and preferences (`groupProfile`).
public struct GroupProfile: Hashable, Sendable {
    public var displayName: String
    public var fullName: String
    public var shortDescription: String?
    /// Welcome message.
    public var description: String?
    /// A data URI of at most 12,500 characters.
    public var image: String?
    public var preferences: GroupPreferences

    public init(
        displayName: String, fullName: String = "", shortDescription: String? = nil,
        description: String? = nil, image: String? = nil, preferences: GroupPreferences = GroupPreferences()
    ) {
        self.displayName = displayName
        self.fullName = fullName
        self.shortDescription = shortDescription
        self.description = description
        self.image = image
        self.preferences = preferences
    }

    init?(_ json: JSONValue) {
        guard let name = json["displayName"]?.name, !name.isEmpty else { return nil }
        self.init(
            displayName: name, fullName: json["fullName"]?.name ?? "",
            shortDescription: json["shortDescr"]?.name, description: json["description"]?.string,
            image: json["image"]?.picture(limit: ProtocolLimits.profilePicture),
            preferences: json["groupPreferences"].map { GroupPreferences($0) } ?? GroupPreferences())
    }

    var json: String {
        JSONText.object(present: [
            "displayName": JSONText.string(displayName), "fullName": JSONText.string(fullName),
            "shortDescr": shortDescription.map { JSONText.string($0) },
            "description": description.map { JSONText.string($0) },
            "image": image.flatMap { JSONText.picture($0, limit: ProtocolLimits.profilePicture) },
            "groupPreferences": preferences.json,
        ])
    }
}

/// A group's preferences about messages and files (`groupPreferences`). nil for unset ones.
public struct GroupPreferences: Hashable, Sendable {
    public enum Feature: String, CaseIterable, Hashable, Sendable {
        case files, voice, fullDelete, timedMessages, history, reactions
    }

    /// On or off, and the minimum role.
    public struct Setting: Hashable, Sendable {
        public var isOn: Bool
        public var role: MemberRole?

        public init(isOn: Bool, role: MemberRole? = nil) {
            self.isOn = isOn
            self.role = role
        }
    }

    private var said: [Feature: Setting] = [:]
    /// Seconds until messages expire; only with `timedMessages`.
    public var timeToLive: Int?

    public init() {}

    public subscript(feature: Feature) -> Setting? {
        get { said[feature] }
        set { said[feature] = newValue }
    }

    /// Whether a member with `role` may use a feature. Unset files and voice are permitted.
    public func allow(_ feature: Feature, to role: MemberRole) -> Bool {
        guard let setting = said[feature] else { return feature == .files || feature == .voice }
        return setting.isOn && role >= setting.role ?? .observer
    }

    init(_ json: JSONValue) {
        for (name, value) in json.members {
            guard let feature = Feature(rawValue: name), let enable = value["enable"]?.string else {
                continue
            }
            said[feature] = Setting(
                isOn: enable == "on", role: value["role"]?.string.map { MemberRole(word: $0) })
        }
        timeToLive = json["timedMessages"]?["ttl"]?.timeToLive
    }

    var json: String? {
        let members = Feature.allCases.compactMap { feature -> String? in
            guard let setting = said[feature] else { return nil }
            let value = JSONText.object(present: [
                "enable": JSONText.string(setting.isOn ? "on" : "off"),
                "role": setting.role.map { JSONText.string($0.rawValue) },
                "ttl": feature == .timedMessages ? timeToLive.map { String($0) } : nil,
            ])
            return JSONText.string(feature.rawValue) + ":" + value
        }
        return members.isEmpty ? nil : "{" + members.joined(separator: ",") + "}"
    }
}
