import Base
import ChatCore
import JSON

/// A part of a group that only some members see: `(_support)` after its reference.
public enum APIGroupScope: Hashable, Sendable {
    /// Between a member and the moderators; `member` is set for a moderator, and nil for the user's own
    /// conversation.
    case support(member: Int64?)

    /// Returns nil for scopes of later versions.
    init?(_ json: JSONValue) {
        guard json.type == "memberSupport" else { return nil }
        let member = json["groupMemberId_"] ?? json["groupMember_"]?["groupMemberId"]
        self = .support(member: member?.integer)
    }

    var suffix: String {
        switch self {
        case .support(nil): "(_support)"
        case .support(let member?): "(_support:\(member))"
        }
    }
}

/// A chat or part of one, in the notation of commands.
public struct APIChatReference: Hashable, Sendable, CustomStringConvertible {
    public var chat: ChatReference
    public var scope: APIGroupScope?

    public init(_ chat: ChatReference, scope: APIGroupScope? = nil) {
        self.chat = chat
        self.scope = scope
    }

    public var description: String { chat.description + (scope?.suffix ?? "") }
}

/// A chat in lists and items (`chatInfo`). Only contacts, groups and notes have files; other kinds (requests,
/// pending connections) are not decoded.
public struct APIChatInfo: Hashable, Sendable {
    public var reference: APIChatReference
    /// The user's alias, else the chat's own name.
    public var displayName: String
    public var isNamedByUser: Bool
    public var updatedAt: Timestamp
    /// True for a deleted contact or group that is kept for its history.
    public var isGone: Bool
    /// True if the chat has ended, so that it cannot be left.
    public var hasEnded: Bool
    /// nil if files can be sent.
    public var sendingRefused: String?
    /// True if the user has compared the contact's security code.
    public var isVerified = false

    /// Converts to ChatFS's type.
    public var chat: Chat {
        Chat(
            reference: reference.chat, displayName: displayName, updatedAt: updatedAt,
            sendingRefused: sendingRefused, isNamedByUser: isNamedByUser,
            verification: isVerified ? .verified : .unverified,
            supportedActions: Self.supportedActions(in: reference.chat))
    }

    /// Returns the actions that the core carries out. It owns the copies of files, so none is freed. All messages of
    /// notes are the user's own, and their files come from no relay; a phone may have files of notes that are not on this
    /// machine.
    static func supportedActions(in chat: ChatReference) -> Set<ChatAction> {
        if case .notes = chat { [.upload, .sendText, .messages, .keep] } else { .all.subtracting([.free]) }
    }

    init?(info json: JSONValue) {
        switch json.type {
        case "direct":
            guard let contact = json["contact"] else { return nil }
            self.init(contact: contact)
        case "group":
            guard let group = json["groupInfo"] else { return nil }
            self.init(group: group)
            reference.scope = json["groupChatScope"].flatMap(APIGroupScope.init)
        case "local":
            guard let notes = json["noteFolder"] else { return nil }
            self.init(notes: notes)
        default:
            return nil
        }
    }

    /// The contact or group in an event about its change.
    init?(changed json: JSONValue) {
        let group = (json["toGroup"] ?? json["groupInfo"]).flatMap(Self.init(group:))
        let contact = (json["toContact"] ?? json["contact"]).flatMap(Self.init(contact:))
        guard let chat = group ?? contact else { return nil }
        self = chat
    }

    init?(contact json: JSONValue) {
        guard let id = json["contactId"]?.integer, id > 0 else { return nil }
        reference = APIChatReference(.direct(id))
        let alias = json["profile"]?["localAlias"]
        displayName = Self.name(alias: alias, profile: json["profile"], of: json)
        isNamedByUser = alias?.string?.isEmpty == false
        updatedAt = Self.time(of: json)
        let status = json["contactStatus"]?.type
        isGone = status == "deletedByUser" || json["chatDeleted"]?.bool == true
        hasEnded = status != nil && status != "active"
        sendingRefused = Self.refusal(contact: json)
        isVerified = json["activeConn"]?["connectionCode"]?["securityCode"]?.string != nil
    }

    init?(group json: JSONValue) {
        guard let id = json["groupId"]?.integer, id > 0 else { return nil }
        reference = APIChatReference(.group(id))
        displayName = Self.name(alias: json["localAlias"], profile: json["groupProfile"], of: json)
        isNamedByUser = json["localAlias"]?.string?.isEmpty == false
        updatedAt = Self.time(of: json)
        isGone = false
        hasEnded = json["membership"]?["memberStatus"]?.type.map(Self.endedMembership.contains) ?? false
        sendingRefused = Self.refusal(group: json)
    }

    init?(notes json: JSONValue) {
        guard let id = json["noteFolderId"]?.integer, id > 0 else { return nil }
        reference = APIChatReference(.notes(id))
        displayName = "Saved notes"
        isNamedByUser = false
        updatedAt = Self.time(of: json)
        isGone = false
        hasEnded = false
        sendingRefused = nil
    }

    private static func name(alias: JSONValue?, profile: JSONValue?, of json: JSONValue) -> String {
        let names = [alias, profile?["displayName"], json["localDisplayName"]]
        return names.lazy.compactMap { $0?.string }.first { !$0.isEmpty } ?? "?"
    }

    private static func time(of json: JSONValue) -> Timestamp {
        let times = [json["chatTs"], json["updatedAt"], json["createdAt"]]
        return times.lazy.compactMap { $0?.string.flatMap { Timestamp(iso8601: $0) } }.first
            ?? Timestamp(seconds: 0)
    }

    /// The core checks this too, but only after a file was copied.
    private static func refusal(contact json: JSONValue) -> String? {
        switch json["contactStatus"]?.type {
        case "active", nil: break
        default: return "This contact is deleted; nothing can be sent."
        }
        guard let connection = json["activeConn"] else { return "This contact is not connected." }
        switch connection["connStatus"]?.type {
        case "ready", "snd-ready", "sndReady": return nil
        default: return "This contact is not connected yet."
        }
    }

    private static let roles = ["relay", "observer", "author", "member", "moderator", "admin", "owner"]

    private static func rank(_ role: String?) -> Int? { role.flatMap { roles.firstIndex(of: $0) } }

    private static let endedMembership: Set = ["rejected", "removed", "left", "deleted", "group_deleted"]

    static let notJoined = "You have not joined this group yet."

    private static func refusal(group json: JSONValue) -> String? {
        let membership = json["membership"]
        switch membership?["memberStatus"]?.type {
        case "announced", "connected", "complete", "creator", "accepted", "introduced", "intro-inv", nil:
            break
        case let status? where endedMembership.contains(status):
            return "You are no longer a member of this group."
        default: return notJoined
        }
        let own = rank(membership?["memberRole"]?.string)
        if let own, own < 2 { return "Your role in this group only lets you read." }
        let files = json["fullGroupPreferences"]?["files"]
        if files?["enable"]?.string == "off" { return "This group does not allow files." }
        if let own, let needed = rank(files?["role"]?.string), own < needed {
            return "In this group only members with a higher role may send files."
        }
        return nil
    }
}

/// A user profile of the core's database.
public struct APIUser: Hashable, Sendable {
    public var id: Int64
    public var displayName: String

    init?(_ json: JSONValue) {
        guard let id = json["userId"]?.integer, id > 0 else { return nil }
        self.id = id
        displayName =
            json["profile"]?["displayName"]?.string ?? json["localDisplayName"]?.string ?? "?"
    }

    public var profile: Profile { Profile(id: id, displayName: displayName) }
}
