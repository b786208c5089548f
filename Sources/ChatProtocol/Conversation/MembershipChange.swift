/// What follows from an event that is about the group and its members, and the group afterwards.
struct MembershipChange<Records: ConversationRecords> {
    private(set) var group: GroupConversation
    /// Who says so, and what they may.
    private let author: MemberID
    private let role: MemberRole
    private let records: Records

    init(group: GroupConversation, author: MemberID, role: MemberRole, _ records: Records) {
        self.group = group
        self.author = author
        self.role = role
        self.records = records
    }

    mutating func effects(of event: GroupEvent) throws(Records.Failure) -> [ConversationEffect] {
        switch event {
        case .newMember(let member), .introduction(let member):
            return role.mayForward ? try added(member) : []
        case .linkHost(let profile), .memberInformation(_, let profile): return try known(author, as: profile)
        case .linkAcceptance(let acceptance, let member):
            guard role.mayModerate, member.id == group.own.id, acceptance == .accepted else { return [] }
            group.become(member.role)
            group.become(.joined)
            return [.groupProfileChanged(group.profile)]
        case .linkRejection: return author == group.host ? ended(.refusedByGroup) : []
        case .role(let member): return role.mayForward && role >= member.role ? try changed(member) : []
        case .restriction(let id, let isBlocked):
            guard role.mayModerate, var member = try records.member(id), member.role <= role else {
                return []
            }
            member.isBlocked = isBlocked
            return [.memberChanged(member)]
        case .removal(let id, let withMessages): return try removed(id, withMessages: withMessages)
        case .left: return try gone(author, .left)
        case .deleted: return role == .owner ? ended(.groupDeleted) : []
        case .profile(let profile): return role == .owner ? changed(profile) : []
        case .preferences(let preferences):
            guard role == .owner else { return [] }
            var profile = group.profile
            profile.preferences = preferences
            return changed(profile)
        case .invitation, .acceptance, .linkInvitation, .forwarded: return []
        }
    }

    private func added(_ information: MemberInformation) throws(Records.Failure) -> [ConversationEffect] {
        let id = information.reference.id
        guard id != group.own.id else { return [] }
        var member = GroupMember(id: id, role: information.reference.role, profile: information.profile)
        // Nobody is unblocked by being introduced once more.
        let known = try records.member(id)
        member.isBlocked = known?.isBlocked ?? false
        return member == known ? [] : [.memberChanged(member)]
    }

    private func known(_ id: MemberID, as profile: ContactProfile) throws(Records.Failure)
        -> [ConversationEffect]
    {
        var member = try records.member(id) ?? GroupMember(id: id, role: role, profile: profile)
        member.profile = profile
        return try member == records.member(id) ? [] : [.memberChanged(member)]
    }

    private mutating func changed(_ reference: MemberReference) throws(Records.Failure)
        -> [ConversationEffect]
    {
        if reference.id == group.own.id {
            group.become(reference.role)
            return [.groupProfileChanged(group.profile)]
        }
        guard var member = try records.member(reference.id), member.role <= role else { return [] }
        member.role = reference.role
        return [.memberChanged(member)]
    }

    private mutating func changed(_ profile: GroupProfile) -> [ConversationEffect] {
        guard profile != group.profile else { return [] }
        group.become(profile)
        return [.groupProfileChanged(profile)]
    }

    private mutating func removed(_ id: MemberID, withMessages: Bool) throws(Records.Failure)
        -> [ConversationEffect]
    {
        guard role.mayForward else { return [] }
        if id == group.own.id { return role >= group.own.role ? ended(.removedFromGroup) : [] }
        guard let member = try records.member(id), member.role <= role else { return [] }
        return try gone(id, .removed) + (withMessages ? [.messagesOfMemberDeleted(id)] : [])
    }

    private func gone(_ id: MemberID, _ status: GroupMember.Status) throws(Records.Failure)
        -> [ConversationEffect]
    {
        guard var member = try records.member(id), member.status != status else { return [] }
        member.status = status
        return [.memberChanged(member)]
    }

    private mutating func ended(_ end: ChatEnd) -> [ConversationEffect] {
        group.become(.ended)
        return [.ended(end)]
    }
}
