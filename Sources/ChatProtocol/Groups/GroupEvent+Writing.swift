import JSON

extension GroupEvent {
    var name: String {
        switch self {
        case .invitation: "x.grp.inv"
        case .acceptance: "x.grp.acpt"
        case .linkInvitation: "x.grp.link.inv"
        case .linkHost: "x.grp.link.mem"
        case .linkAcceptance: "x.grp.link.acpt"
        case .linkRejection: "x.grp.link.reject"
        case .newMember: "x.grp.mem.new"
        case .introduction: "x.grp.mem.intro"
        case .memberInvitation: "x.grp.mem.inv"
        case .newcomer: "x.grp.mem.fwd"
        case .memberInformation: "x.grp.mem.info"
        case .memberConnected: "x.grp.mem.con"
        case .role: "x.grp.mem.role"
        case .restriction: "x.grp.mem.restrict"
        case .removal: "x.grp.mem.del"
        case .left: "x.grp.leave"
        case .deleted: "x.grp.del"
        case .profile: "x.grp.info"
        case .preferences: "x.grp.prefs"
        case .forwarded: "x.grp.msg.forward"
        }
    }

    var parameters: String {
        switch self {
        case .invitation(let invitation): JSONText.object(["groupInvitation": invitation.json])
        case .acceptance(let id): JSONText.object(["memberId": JSONText.string(id)])
        case .linkInvitation(let invitation): JSONText.object(["groupLinkInvitation": invitation.json])
        case .linkHost(let profile): JSONText.object(["profile": profile.json])
        case .linkAcceptance(let acceptance, let member): Self.parameters(of: acceptance, member)
        case .linkRejection(let reason):
            JSONText.object([
                "groupLinkRejection": JSONText.object(["rejectionReason": JSONText.string(reason)])
            ])
        case .newMember(let member): JSONText.object(["memberInfo": member.json])
        case .introduction(let member):
            JSONText.object(present: [
                "memberInfo": member.json,
                "memberRestrictions": member.isBlocked ? Self.restriction(isBlocked: true) : nil,
            ])
        case .memberInvitation(let id, let link):
            JSONText.object(["memberId": JSONText.string(id), "memberIntro": Self.introduction(link)])
        case .newcomer(let member, let link):
            JSONText.object(["memberInfo": member.json, "memberIntro": Self.introduction(link)])
        case .memberConnected(let id): JSONText.object(["memberId": JSONText.string(id)])
        case .memberInformation(let id, let profile):
            JSONText.object(["memberId": JSONText.string(id), "profile": profile.json])
        case .role(let member): Self.parameters(of: member)
        case .restriction(let id, let isBlocked): Self.parameters(ofRestriction: id, isBlocked: isBlocked)
        case .removal(let id, let withMessages):
            JSONText.object(present: [
                "memberId": JSONText.string(id), "messages": JSONText.flag(withMessages),
            ])
        case .left, .deleted: "{}"
        case .profile(let profile): JSONText.object(["groupProfile": profile.json])
        case .preferences(let preferences): JSONText.object(["groupPreferences": preferences.json ?? "{}"])
        case .forwarded(let message): message.json
        }
    }

    private static func parameters(of member: MemberReference) -> String {
        JSONText.object([
            "memberId": JSONText.string(member.id), "role": JSONText.string(member.role.rawValue),
        ])
    }

    private static func parameters(ofRestriction id: MemberID, isBlocked: Bool) -> String {
        JSONText.object([
            "memberId": JSONText.string(id), "memberRestrictions": restriction(isBlocked: isBlocked),
        ])
    }

    private static func restriction(isBlocked: Bool) -> String {
        JSONText.object(["restriction": JSONText.string(isBlocked ? "blocked" : "unrestricted")])
    }

    private static func introduction(_ link: String) -> String {
        JSONText.object(["groupConnReq": JSONText.string(link)])
    }

    private static func parameters(
        of acceptance: GroupLinkInvitation.Acceptance, _ member: MemberReference
    ) -> String {
        JSONText.object([
            "acceptance": JSONText.string(acceptance.rawValue),
            "role": JSONText.string(member.role.rawValue), "memberId": JSONText.string(member.id),
        ])
    }
}
