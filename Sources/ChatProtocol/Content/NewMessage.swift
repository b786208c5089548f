import Base
import JSON

/// A new message (x.msg.new).
public struct NewMessage: Hashable, Sendable {
    public var content: ChatContent
    public var file: FileInvitation?
    /// The quoted message.
    public var quote: Quote?
    /// Whether it was forwarded from another chat.
    public var isForwarded: Bool
    /// Seconds until it expires, counted from reading or sending.
    public var timeToLive: Int?
    /// Whether it is still being written; updates follow.
    public var isLive: Bool
    public var mentions: [Mention]
    public var scope: GroupScope?

    public init(
        _ content: ChatContent, file: FileInvitation? = nil, quote: Quote? = nil, isForwarded: Bool = false,
        timeToLive: Int? = nil, isLive: Bool = false, mentions: [Mention] = [], scope: GroupScope? = nil
    ) {
        self.content = content
        self.file = file
        self.quote = quote
        self.isForwarded = isForwarded
        self.timeToLive = timeToLive
        self.isLive = isLive
        self.mentions = mentions
        self.scope = scope
    }

    /// Drops an invalid file, but keeps the message.
    init?(_ json: JSONValue) {
        guard let content = json["content"].flatMap(ChatContent.init) else { return nil }
        self.init(
            content, file: json["file"].flatMap(FileInvitation.init),
            quote: json["quote"].flatMap(Quote.init),
            isForwarded: json["forward"].map { $0.bool ?? $0.isObject } ?? false,
            timeToLive: json["ttl"]?.timeToLive, isLive: json["live"]?.bool ?? false,
            mentions: Mention.all(json["mentions"]), scope: json["scope"].flatMap(GroupScope.init))
    }

    var json: String {
        JSONText.object(present: [
            "content": content.json, "file": file?.json, "quote": quote?.json,
            "forward": JSONText.flag(isForwarded), "ttl": timeToLive.map { String($0) },
            "live": JSONText.flag(isLive), "mentions": Mention.json(mentions), "scope": scope?.json,
        ])
    }
}

/// New content of a message (x.msg.update).
public struct MessageUpdate: Hashable, Sendable {
    public var id: SharedMessageID
    public var content: ChatContent
    public var timeToLive: Int?
    public var isLive: Bool
    public var mentions: [Mention]
    public var scope: GroupScope?

    public init(
        _ id: SharedMessageID, content: ChatContent, timeToLive: Int? = nil, isLive: Bool = false,
        mentions: [Mention] = [], scope: GroupScope? = nil
    ) {
        self.id = id
        self.content = content
        self.timeToLive = timeToLive
        self.isLive = isLive
        self.mentions = mentions
        self.scope = scope
    }

    init?(_ json: JSONValue) {
        guard let id = json["msgId"]?.messageID, let content = json["content"].flatMap(ChatContent.init)
        else {
            return nil
        }
        self.init(
            id, content: content, timeToLive: json["ttl"]?.timeToLive, isLive: json["live"]?.bool ?? false,
            mentions: Mention.all(json["mentions"]), scope: json["scope"].flatMap(GroupScope.init))
    }

    var json: String {
        JSONText.object(present: [
            "msgId": JSONText.string(id), "content": content.json, "ttl": timeToLive.map { String($0) },
            "live": JSONText.flag(isLive), "mentions": Mention.json(mentions), "scope": scope?.json,
        ])
    }
}

/// A quoted message with its content.
public struct Quote: Hashable, Sendable {
    /// nil for a message of an old version.
    public var id: SharedMessageID?
    public var sentAt: Timestamp
    /// Whether the quoting author wrote it.
    public var isOwn: Bool
    /// Its author in a group.
    public var author: MemberID?
    public var content: ChatContent

    public init(
        id: SharedMessageID?, sentAt: Timestamp, isOwn: Bool, author: MemberID? = nil, content: ChatContent
    ) {
        self.id = id
        self.sentAt = sentAt
        self.isOwn = isOwn
        self.author = author
        self.content = content
    }

    init?(_ json: JSONValue) {
        guard let reference = json["msgRef"], let sentAt = reference["sentAt"]?.time,
            let content = json["content"].flatMap(ChatContent.init)
        else { return nil }
        self.init(
            id: reference["msgId"]?.messageID, sentAt: sentAt, isOwn: reference["sent"]?.bool ?? false,
            author: reference["memberId"]?.memberID, content: content)
    }

    var json: String {
        let reference = JSONText.object(present: [
            "msgId": id.map { JSONText.string($0) }, "sentAt": JSONText.string(sentAt.iso8601),
            "sent": JSONText.bool(isOwn), "memberId": author.map { JSONText.string($0) },
        ])
        return JSONText.object(["msgRef": reference, "content": content.json])
    }
}

/// A member mentioned in a text.
public struct Mention: Hashable, Sendable {
    /// Name as in the text.
    public var name: String
    public var member: MemberID

    static func all(_ json: JSONValue?) -> [Mention] {
        (json?.members ?? []).prefix(ProtocolLimits.batch).compactMap { name, value in
            value["memberId"]?.memberID.map { Mention(name: name, member: $0) }
        }
    }

    static func json(_ mentions: [Mention]) -> String? {
        guard !mentions.isEmpty else { return nil }
        let members = mentions.map { mention in
            let reference = JSONText.object(["memberId": JSONText.string(mention.member)])
            return JSONText.string(mention.name) + ":" + reference
        }
        return "{" + members.joined(separator: ",") + "}"
    }
}

/// The part of a group visible only to one member and the moderators.
public struct GroupScope: Hashable, Sendable {
    /// nil for the sender itself.
    public var member: MemberID?

    public init(member: MemberID?) { self.member = member }

    init?(_ json: JSONValue) {
        guard json["type"]?.string == "member" else { return nil }
        member = json["memberId"]?.memberID
    }

    var json: String {
        JSONText.object(present: [
            "type": JSONText.string("member"), "memberId": member.map { JSONText.string($0) },
        ])
    }
}

extension JSONValue {
    /// Seconds, at most a hundred years.
    var timeToLive: Int? {
        integer.flatMap { (1...3_155_760_000).contains($0) ? Int($0) : nil }
    }
}
