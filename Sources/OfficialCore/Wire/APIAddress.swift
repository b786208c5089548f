import JSON

/// A link of the core, in its full and, if available, short form.
public struct APILink: Hashable, Sendable, CustomStringConvertible {
    public var full: String
    public var short: String?

    init?(_ json: JSONValue) {
        guard let full = json["connFullLink"]?.string else { return nil }
        self.full = full
        short = json["connShortLink"]?.string
    }

    /// The form for users.
    public var shown: String { short ?? full }
    /// The form for commands.
    var words: String { short.map { "\(full) \($0)" } ?? full }

    public var description: String { "APILink(…)" }
}

/// The user's address (`UserContactLink`).
public struct APIAddress: Hashable, Sendable {
    public var link: APILink
    public var acceptsAutomatically: Bool
    /// True for settings that ChatFS does not change: an automatic reply, or use by a business.
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

/// The result of using a link.
public enum APIConnecting: Hashable, Sendable {
    /// A connection is being established, with this number.
    case begun(Int64)
    /// The link belongs to an existing contact or group.
    case known(APIChatInfo)
}

/// The core's information about an unused link (`ConnectionPlan`).
public struct APIConnectionPlan: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// Can be used, possibly again.
        case usable
        case own
        /// Already used by this profile; its chat, if it exists.
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
