import JSON

/// A member's id and role, as in invitations.
public struct MemberReference: Hashable, Sendable {
    public var id: MemberID
    public var role: MemberRole

    public init(id: MemberID, role: MemberRole) {
        self.id = id
        self.role = role
    }

    init?(_ json: JSONValue) {
        guard let id = json["memberId"]?.memberID, let role = json["memberRole"]?.string else { return nil }
        self.init(id: id, role: MemberRole(word: role))
    }

    var json: String {
        JSONText.object(["memberId": JSONText.string(id), "memberRole": JSONText.string(role.rawValue)])
    }
}

/// Information about a member (`memberInfo`).
public struct MemberInformation: Hashable, Sendable {
    public var reference: MemberReference
    public var versions: ClosedRange<UInt16>?
    public var profile: ContactProfile
    /// Whether moderators have blocked it; sent beside `memberInfo`.
    public var isBlocked: Bool

    public init(
        _ reference: MemberReference, versions: ClosedRange<UInt16>? = nil, profile: ContactProfile,
        isBlocked: Bool = false
    ) {
        self.reference = reference
        self.versions = versions
        self.profile = profile
        self.isBlocked = isBlocked
    }

    init?(_ json: JSONValue) {
        guard let reference = MemberReference(json),
            let profile = json["profile"].flatMap(ContactProfile.init)
        else { return nil }
        self.init(reference, versions: json["v"]?.versions, profile: profile)
    }

    var json: String {
        JSONText.object(present: [
            "memberId": JSONText.string(reference.id),
            "memberRole": JSONText.string(reference.role.rawValue),
            "v": versions.map { JSONText.string($0) }, "profile": profile.json,
        ])
    }
}

/// A contact's group invitation (`groupInvitation`).
public struct GroupInvitation: Hashable, Sendable {
    public var host: MemberReference
    public var invited: MemberReference
    /// Secret full link to join.
    public var link: String
    public var profile: GroupProfile

    public init(host: MemberReference, invited: MemberReference, link: String, profile: GroupProfile) {
        self.host = host
        self.invited = invited
        self.link = link
        self.profile = profile
    }

    init?(_ json: JSONValue) {
        guard let host = json["fromMember"].flatMap(MemberReference.init),
            let invited = json["invitedMember"].flatMap(MemberReference.init),
            let link = json["connRequest"]?.link,
            let profile = json["groupProfile"].flatMap(GroupProfile.init)
        else { return nil }
        self.init(host: host, invited: invited, link: link, profile: profile)
    }

    var json: String {
        JSONText.object([
            "fromMember": host.json, "invitedMember": invited.json, "connRequest": JSONText.string(link),
            "groupProfile": profile.json,
        ])
    }
}

/// A group's reply to a joiner by link (`groupLinkInvitation`).
public struct GroupLinkInvitation: Hashable, Sendable {
    public enum Acceptance: String, Hashable, Sendable {
        case accepted
        /// Waits for review by the members.
        case pending
        case pendingReview = "pending_review"
    }

    public var host: MemberReference
    public var hostName: String
    public var invited: MemberReference
    public var profile: GroupProfile
    public var acceptance: Acceptance
    /// Whether the group is a business chat, which looks like a contact to the customer.
    public var isBusiness: Bool

    public init(
        host: MemberReference, hostName: String, invited: MemberReference, profile: GroupProfile,
        acceptance: Acceptance = .accepted, isBusiness: Bool = false
    ) {
        self.host = host
        self.hostName = hostName
        self.invited = invited
        self.profile = profile
        self.acceptance = acceptance
        self.isBusiness = isBusiness
    }

    init?(_ json: JSONValue) {
        guard let host = json["fromMember"].flatMap(MemberReference.init),
            let invited = json["invitedMember"].flatMap(MemberReference.init),
            let profile = json["groupProfile"].flatMap(GroupProfile.init)
        else { return nil }
        let acceptance = json["accepted"]?.type
        self.init(
            host: host, hostName: json["fromMemberName"]?.name ?? "", invited: invited, profile: profile,
            acceptance: acceptance.map { Acceptance(rawValue: $0) ?? .pending } ?? .accepted,
            isBusiness: json["business"]?["chatType"] != nil)
    }

    var json: String {
        JSONText.object(present: [
            "fromMember": host.json, "fromMemberName": JSONText.string(hostName),
            "invitedMember": invited.json, "groupProfile": profile.json,
            "accepted": JSONText.string(acceptance.rawValue),
            "business": isBusiness ? JSONText.object(["chatType": JSONText.string("business")]) : nil,
        ])
    }
}
