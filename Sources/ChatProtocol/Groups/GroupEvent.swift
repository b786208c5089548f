import Base
import JSON

/// Group events (x.grp.*) that concern a member.
public indirect enum GroupEvent: Hashable, Sendable {
    /// x.grp.inv: sent in a contact's chat.
    case invitation(GroupInvitation)
    /// x.grp.acpt: sent when joining by invitation.
    case acceptance(MemberID)
    /// x.grp.link.inv: sent by the host to a joiner by link.
    case linkInvitation(GroupLinkInvitation)
    /// x.grp.link.mem: the host's profile.
    case linkHost(ContactProfile)
    /// x.grp.link.acpt: a waiting member is admitted, or waits for the next step.
    case linkAcceptance(GroupLinkInvitation.Acceptance, MemberReference)
    /// x.grp.link.reject with its reason.
    case linkRejection(reason: String)
    /// x.grp.mem.new: a newcomer has joined.
    case newMember(MemberInformation)
    /// x.grp.mem.intro: introduces an existing member, for which the newcomer creates a link.
    case introduction(MemberInformation)
    /// x.grp.mem.inv: the newcomer's link for a member, sent through the introducer. Secret.
    case memberInvitation(MemberID, link: String)
    /// x.grp.mem.fwd: that link, forwarded to the member with the newcomer's information. Secret.
    case newcomer(MemberInformation, link: String)
    /// x.grp.mem.info: a member's introduction on a direct connection.
    case memberInformation(MemberID, ContactProfile)
    /// x.grp.mem.con: the sender is connected with this member; forwarding can stop.
    case memberConnected(MemberID)
    /// x.grp.mem.role
    case role(MemberReference)
    /// x.grp.mem.restrict: blocks or unblocks a member.
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
    /// x.grp.msg.forward: a member's message, forwarded by an admin.
    case forwarded(ForwardedMessage)
}

/// A forwarded message with its author and time.
public struct ForwardedMessage: Hashable, Sendable {
    public var author: MemberID
    /// The author's name according to the forwarder.
    public var authorName: String?
    public var message: ChatMessage
    public var time: Timestamp

    public init(author: MemberID, authorName: String? = nil, message: ChatMessage, time: Timestamp) {
        self.author = author
        self.authorName = authorName
        self.message = message
        self.time = time
    }

    /// nil also for a forwarded message inside another one.
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
    /// Parses a group event.
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
