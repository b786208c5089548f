import JSON

/// A link of the core, in both forms where it made both.
public struct APILink: Hashable, Sendable, CustomStringConvertible {
    public var full: String
    public var short: String?

    init?(_ json: JSONValue) {
        guard let full = json["connFullLink"]?.string else { return nil }
        self.full = full
        short = json["connShortLink"]?.string
    }

    /// The one for people.
    public var shown: String { short ?? full }
    /// As commands take it.
    var words: String { short.map { "\(full) \($0)" } ?? full }

    public var description: String { "APILink(…)" }
}

/// The user's address (`UserContactLink`).
public struct APIAddress: Hashable, Sendable {
    public var link: APILink
    public var acceptsAutomatically: Bool
    /// What belongs to the address besides, and is not changed here: an answer to who asks, or its use by a business.
    public var hasOtherSettings: Bool

    init?(_ json: JSONValue) {
        guard let link = (json["connLinkContact"] ?? json["connReqContact"]).flatMap(APILink.init) else {
            return nil
        }
        self.link = link
        let settings = json["addressSettings"] ?? json
        acceptsAutomatically = settings["autoAccept"].map { !$0.isNull } ?? false
        hasOtherSettings =
            settings["businessAddress"]?.bool == true
            || [settings["autoReply"], settings["welcomeMessage"]].contains { $0.map { !$0.isNull } ?? false }
    }
}

/// What became of a link that was used.
public enum APIConnecting: Hashable, Sendable {
    /// A connection is being made, known by its number.
    case begun(Int64)
    /// It leads to a contact or group that is there already.
    case known(APIChatInfo)
}

/// What the core says of a link before it is used (`ConnectionPlan`).
public struct APIConnectionPlan: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// It can be used, maybe once more.
        case usable
        case own
        /// It was used by this profile, and what it leads to is being made or there.
        case used(APIChatInfo?)
    }

    public var link: APILink
    public var outcome: Outcome

    init?(_ json: JSONValue) {
        guard let link = json["connLink"].flatMap(APILink.init), let plan = json["connectionPlan"] else {
            return nil
        }
        self.link = link
        let inner = plan["invitationLinkPlan"] ?? plan["contactAddressPlan"] ?? plan["groupLinkPlan"]
        let chat =
            (inner?["contact"] ?? inner?["contact_"]).flatMap { APIChatInfo(contact: $0) }
            ?? (inner?["groupInfo"] ?? inner?["groupInfo_"]).flatMap { APIChatInfo(group: $0) }
        switch inner?.type {
        case "ownLink": outcome = .own
        case "known", "connectingProhibit", "contactViaAddress": outcome = .used(chat)
        case "connecting": outcome = .used(chat)
        default: outcome = .usable
        }
    }
}
