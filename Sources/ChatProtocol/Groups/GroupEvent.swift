import Base
import JSON

/// What is said in groups and about them (x.grp.…), as far as a member has to do with it.
public indirect enum GroupEvent: Hashable, Sendable {
    /// x.grp.inv: in the chat with a contact.
    case invitation(GroupInvitation)
    /// x.grp.acpt: said when joining by an invitation.
    case acceptance(MemberID)
    /// x.grp.link.inv: said by the host when joining by a link.
    case linkInvitation(GroupLinkInvitation)
    /// x.grp.link.mem: who the host is.
    case linkHost(ContactProfile)
    /// x.grp.link.acpt: who waited is in, or waits for the next step.
    case linkAcceptance(GroupLinkInvitation.Acceptance, MemberReference)
    /// x.grp.link.reject, with its word.
    case linkRejection(reason: String)
    /// x.grp.mem.new: somebody has joined.
    case newMember(MemberInformation)
    /// x.grp.mem.intro: somebody who is a member already, for whom a newcomer makes a link.
    case introduction(MemberInformation)
    /// x.grp.mem.inv: the link that a newcomer has made for a member, on its way to who introduced them. A secret.
    case memberInvitation(MemberID, link: String)
    /// x.grp.mem.fwd: the same, with who the newcomer is, for that member. A secret.
    case newcomer(MemberInformation, link: String)
    /// x.grp.mem.info: who somebody is, on a connection with them.
    case memberInformation(MemberID, ContactProfile)
    /// x.grp.mem.con: the sender has a connection of its own with this member, so nobody has to pass anything on.
    case memberConnected(MemberID)
    /// x.grp.mem.role
    case role(MemberReference)
    /// x.grp.mem.restrict: what a member writes is not shown, or shown again.
    case restriction(MemberID, isBlocked: Bool)
    /// x.grp.mem.del
    case removal(MemberID, withMessages: Bool)
    /// x.grp.leave
    case left
    /// x.grp.del
    case deleted
    /// x.grp.info
    case profile(GroupProfile)
    /// x.grp.prefs
    case preferences(GroupPreferences)
    /// x.grp.msg.forward: what somebody else wrote, passed on by who looks after the group.
    case forwarded(ForwardedMessage)
}

/// A message with who wrote it and when.
public struct ForwardedMessage: Hashable, Sendable {
    public var author: MemberID
    /// As the one who passes it on calls them.
    public var authorName: String?
    public var message: ChatMessage
    public var time: Timestamp

    public init(author: MemberID, authorName: String? = nil, message: ChatMessage, time: Timestamp) {
        self.author = author
        self.authorName = authorName
        self.message = message
        self.time = time
    }

    /// nil too of a message that was passed on within one that was.
    init?(_ json: JSONValue) {
        guard let author = json["memberId"]?.memberID,
            let message = json["msg"].flatMap({ ChatMessage($0, isForwarded: true) }),
            let time = json["msgTs"]?.time
        else { return nil }
        self.init(author: author, authorName: json["memberName"]?.name, message: message, time: time)
    }

    var json: String {
        JSONText.object(present: [
            "memberId": JSONText.string(author), "memberName": authorName.map { JSONText.string($0) },
            "msg": message.json, "msgTs": JSONText.string(time.iso8601),
        ])
    }
}

extension GroupEvent {
    /// An event that is known, or nil where its parameters make no sense.
    static func read(_ name: String, _ json: JSONValue) -> Reading<GroupEvent> {
        if let reader = readers[name] { return Reading(reader(json)) }
        return .unknown
    }

    private static let readers: [String: @Sendable (JSONValue) -> GroupEvent?] = [
        "x.grp.inv": { $0["groupInvitation"].flatMap(GroupInvitation.init).map { .invitation($0) } },
        "x.grp.acpt": { $0["memberId"]?.memberID.map { .acceptance($0) } },
        "x.grp.link.inv": {
            $0["groupLinkInvitation"].flatMap(GroupLinkInvitation.init).map { .linkInvitation($0) }
        },
        "x.grp.link.mem": { $0["profile"].flatMap(ContactProfile.init).map { .linkHost($0) } },
        "x.grp.link.acpt": { linkAcceptance($0) },
        "x.grp.link.reject": { json in
            .linkRejection(reason: (json["groupLinkRejection"] ?? json)["rejectionReason"]?.type ?? "")
        },
        "x.grp.mem.new": { $0["memberInfo"].flatMap(MemberInformation.init).map { .newMember($0) } },
        "x.grp.mem.intro": { introduction($0) },
        "x.grp.mem.inv": { json in
            json["memberId"]?.memberID.flatMap { id in
                json["memberIntro"]?["groupConnReq"]?.link.map { .memberInvitation(id, link: $0) }
            }
        },
        "x.grp.mem.fwd": { json in
            json["memberInfo"].flatMap(MemberInformation.init).flatMap { member in
                json["memberIntro"]?["groupConnReq"]?.link.map { .newcomer(member, link: $0) }
            }
        },
        "x.grp.mem.con": { $0["memberId"]?.memberID.map { .memberConnected($0) } },
        "x.grp.mem.info": { json in
            json["memberId"]?.memberID.flatMap { id in
                json["profile"].flatMap(ContactProfile.init).map { .memberInformation(id, $0) }
            }
        },
        "x.grp.mem.role": { roleChange($0) },
        "x.grp.mem.restrict": { json in
            json["memberId"]?.memberID.map { id in
                let word = json["memberRestrictions"]?["restriction"]?.string
                return .restriction(id, isBlocked: word == "blocked")
            }
        },
        "x.grp.mem.del": { json in
            json["memberId"]?.memberID.map {
                .removal($0, withMessages: json["messages"]?.bool ?? false)
            }
        },
        "x.grp.leave": { _ in .left },
        "x.grp.del": { _ in .deleted },
        "x.grp.info": { $0["groupProfile"].flatMap(GroupProfile.init).map { .profile($0) } },
        "x.grp.prefs": { $0["groupPreferences"].map { .preferences(GroupPreferences($0)) } },
        "x.grp.msg.forward": { ForwardedMessage($0).map { .forwarded($0) } },
    ]

    private static func introduction(_ json: JSONValue) -> GroupEvent? {
        guard var member = json["memberInfo"].flatMap(MemberInformation.init) else { return nil }
        member.isBlocked = json["memberRestrictions"]?["restriction"]?.string == "blocked"
        return .introduction(member)
    }

    private static func linkAcceptance(_ json: JSONValue) -> GroupEvent? {
        guard let id = json["memberId"]?.memberID, let role = json["role"]?.string else { return nil }
        let word = json["acceptance"]?.type ?? ""
        return .linkAcceptance(
            GroupLinkInvitation.Acceptance(rawValue: word) ?? .pending,
            MemberReference(id: id, role: MemberRole(word: role)))
    }

    private static func roleChange(_ json: JSONValue) -> GroupEvent? {
        guard let id = json["memberId"]?.memberID, let role = json["role"]?.string else { return nil }
        return .role(MemberReference(id: id, role: MemberRole(word: role)))
    }
}
