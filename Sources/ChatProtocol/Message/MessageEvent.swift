import JSON

/// The event of a message (`event` and `params`).
public enum MessageEvent: Hashable, Sendable {
    /// x.info: the sender's profile, at the handshake and after changes.
    case information(ContactProfile)
    /// x.contact: a contact request.
    case contactRequest(ContactRequest)
    /// x.ok: no information.
    case nothingToSay
    /// x.msg.new
    case message(NewMessage)
    /// x.msg.file.descr: a part of a file description.
    case description(of: SharedMessageID, DescriptionPart)
    /// x.msg.update
    case update(MessageUpdate)
    /// x.msg.del; `author` is set for another member's message.
    case deletion(SharedMessageID, author: MemberID?)
    /// x.msg.react
    case reaction(Reaction)
    /// x.file.cancel: the sender cancels a file.
    case fileCancelled(SharedMessageID)
    /// x.file.acpt.inv: requests an inline file.
    case fileAccepted(SharedMessageID, name: String)
    /// x.direct.del: the contact deleted this chat.
    case contactDeleted
    /// x.grp.*
    case group(GroupEvent)
    /// From a later version, or irrelevant to ChatFS: calls, probes.
    case unknown(name: String)

    /// A contact request at an address (x.contact).
    public struct ContactRequest: Hashable, Sendable {
        public var profile: ContactProfile
        /// Equal in repeated requests.
        public var requestID: SharedMessageID?
        /// Text of the request.
        public var message: ChatContent?

        public init(profile: ContactProfile, requestID: SharedMessageID?, message: ChatContent? = nil) {
            self.profile = profile
            self.requestID = requestID
            self.message = message
        }
    }

    /// An added or removed reaction.
    public struct Reaction: Hashable, Sendable {
        public var id: SharedMessageID
        /// Author of the message, in a group.
        public var author: MemberID?
        public var emoji: String
        public var isAdded: Bool

        public init(to id: SharedMessageID, author: MemberID? = nil, emoji: String, isAdded: Bool) {
            self.id = id
            self.author = author
            self.emoji = emoji
            self.isAdded = isAdded
        }
    }
}

extension MessageEvent {
    /// nil for a known event with invalid parameters.
    init?(_ name: String, _ json: JSONValue, isForwarded: Bool) {
        if let reader = Self.readers[name] {
            guard let event = reader(json) else { return nil }
            self = event
            return
        }
        // Forwarded messages cannot be nested, which bounds the recursion.
        if isForwarded, name == "x.grp.msg.forward" { return nil }
        switch GroupEvent.read(name, json) {
        case .read(let event): self = .group(event)
        case .malformed: return nil
        case .unknown: self = .unknown(name: name)
        }
    }

    private static let readers: [String: @Sendable (JSONValue) -> MessageEvent?] = [
        "x.info": { $0["profile"].flatMap(ContactProfile.init).map { .information($0) } },
        "x.contact": { ContactRequest($0).map { .contactRequest($0) } },
        "x.ok": { _ in .nothingToSay },
        "x.msg.new": { NewMessage($0).map { .message($0) } },
        "x.msg.file.descr": { json in
            json["msgId"]?.messageID.flatMap { id in
                json["fileDescr"].flatMap(DescriptionPart.init).map { .description(of: id, $0) }
            }
        },
        "x.msg.update": { MessageUpdate($0).map { .update($0) } },
        "x.msg.del": { json in
            json["msgId"]?.messageID.map { .deletion($0, author: json["memberId"]?.memberID) }
        },
        "x.msg.react": { Reaction($0).map { .reaction($0) } },
        "x.file.cancel": { $0["msgId"]?.messageID.map { .fileCancelled($0) } },
        "x.file.acpt.inv": { json in
            json["msgId"]?.messageID.map { .fileAccepted($0, name: json["fileName"]?.name ?? "") }
        },
        "x.direct.del": { _ in .contactDeleted },
    ]

    var name: String {
        switch self {
        case .information: "x.info"
        case .contactRequest: "x.contact"
        case .nothingToSay: "x.ok"
        case .message: "x.msg.new"
        case .description: "x.msg.file.descr"
        case .update: "x.msg.update"
        case .deletion: "x.msg.del"
        case .reaction: "x.msg.react"
        case .fileCancelled: "x.file.cancel"
        case .fileAccepted: "x.file.acpt.inv"
        case .contactDeleted: "x.direct.del"
        case .group(let event): event.name
        case .unknown(let name): name
        }
    }

    var parameters: String {
        switch self {
        case .information(let profile): JSONText.object(["profile": profile.json])
        case .contactRequest(let request): request.json
        case .message(let message): message.json
        case .description(let id, let part):
            JSONText.object(["msgId": JSONText.string(id), "fileDescr": part.json])
        case .update(let update): update.json
        case .deletion(let id, let author):
            JSONText.object(present: [
                "msgId": JSONText.string(id), "memberId": author.map { JSONText.string($0) },
            ])
        case .reaction(let reaction): reaction.json
        case .fileCancelled(let id): JSONText.object(["msgId": JSONText.string(id)])
        case .fileAccepted(let id, let name):
            JSONText.object(["msgId": JSONText.string(id), "fileName": JSONText.string(name)])
        case .group(let event): event.parameters
        case .nothingToSay, .contactDeleted, .unknown: "{}"
        }
    }

    /// Whether the server may send a push notification (flag `T` of `SEND`).
    public var notifies: Bool {
        switch self {
        case .message, .contactRequest, .group(.invitation), .group(.deleted): true
        default: false
        }
    }

    /// Whether official apps expect a receipt.
    public var wantsReceipt: Bool {
        switch self {
        case .message, .group(.invitation): true
        default: false
        }
    }
}

extension MessageEvent.ContactRequest {
    init?(_ json: JSONValue) {
        guard let profile = json["profile"].flatMap(ContactProfile.init) else { return nil }
        self.init(
            profile: profile, requestID: json["contactReqId"]?.messageID,
            message: json["content"].flatMap(ChatContent.init))
    }

    var json: String {
        JSONText.object(present: [
            "profile": profile.json, "contactReqId": requestID.map { JSONText.string($0) },
            "content": message?.json,
        ])
    }
}

extension MessageEvent.Reaction {
    init?(_ json: JSONValue) {
        guard let id = json["msgId"]?.messageID, let reaction = json["reaction"],
            let isAdded = json["add"]?.bool
        else { return nil }
        // Reactions other than emoji are from later versions.
        let emoji = reaction["type"]?.string == "emoji" ? reaction["emoji"]?.name : nil
        self.init(to: id, author: json["memberId"]?.memberID, emoji: emoji ?? "", isAdded: isAdded)
    }

    var json: String {
        JSONText.object(present: [
            "msgId": JSONText.string(id), "memberId": author.map { JSONText.string($0) },
            "reaction": JSONText.object([
                "type": JSONText.string("emoji"), "emoji": JSONText.string(emoji),
            ]), "add": JSONText.bool(isAdded),
        ])
    }
}
