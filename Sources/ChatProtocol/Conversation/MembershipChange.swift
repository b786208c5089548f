/// Computes a group event's effects and the changed group.
struct MembershipChange<Records: ConversationRecords> {
    private(set) var group: GroupConversation
    /// Author of the event and its role.
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
        case .newMember(let member):
            guard role.mayForward, role >= member.reference.role else { return [] }
            return try added(member, announcer: author)
        case .introduction(let member): return try introduced(member)
        case .newcomer(let member, let link): return try invited(by: member, link)
        case .linkHost(let profile): return author == group.host ? try known(author, as: profile) : []
        case .memberInformation(let id, let profile):
            // Another person has joined the link meant for this member.
            if author != group.host, id != author { return [.memberGone(author)] }
            return try known(author, as: profile)
        case .linkAcceptance(let acceptance, let member):
            // Admission applies only while waiting; a member's role changes otherwise. No member can give a
            // role above its own.
            guard role.mayModerate, role >= member.role, member.id == group.own.id, acceptance == .accepted,
                group.membership == .waiting
            else { return [] }
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
        case .invitation, .acceptance, .linkInvitation, .forwarded, .memberInvitation, .memberConnected:
            return []
        }
    }

    /// Adds a new member. Known members are unchanged, so that a repeated introduction cannot change their
    /// role or name, or readmit them.
    /// - Parameter announcer: member that will forward the newcomer's link; nil if none will.
    private func added(
        _ information: MemberInformation, announcer: MemberID? = nil
    ) throws(Records.Failure) -> [ConversationEffect] {
        let id = information.reference.id
        guard id != group.own.id else { return [] }
        let known = try records.member(id)
        guard known?.status ?? .heardOf == .heardOf else { return [] }
        return [
            .memberChanged(
                GroupMember(
                    id: id, role: information.reference.role, profile: information.profile,
                    isBlocked: known?.isBlocked ?? information.isBlocked, announcer: announcer))
        ]
    }

    /// Processes an introduction to this newcomer. Only the host may introduce, even members above its own
    /// role.
    private func introduced(_ member: MemberInformation) throws(Records.Failure) -> [ConversationEffect] {
        let id = member.reference.id
        guard author == group.host, role.mayForward, group.membership != .ended else { return [] }
        let effects = try added(member)
        guard !effects.isEmpty, try records.connection(with: id) == nil else { return effects }
        return [.memberIntroduced(id, by: author)] + effects
    }

    /// Processes a newcomer's link. It counts once, and for a known member only from its announcer: a
    /// different link would let another person speak for the member. An existing connection is never
    /// replaced.
    private func invited(
        by member: MemberInformation, _ link: String
    ) throws(Records.Failure) -> [ConversationEffect] {
        let id = member.reference.id
        guard role.mayForward, role >= member.reference.role, id != group.own.id, id != group.host,
            try records.connection(with: id) == nil
        else { return [] }
        let invites = ConversationEffect.newcomerInvites(id, link: link, by: author)
        guard var known = try records.member(id), known.status != .heardOf else {
            return try [invites] + added(member)
        }
        guard known.status == .joined, known.announcer == author, role >= known.role else { return [] }
        known.announcer = nil
        return [.memberChanged(known), invites]
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
            guard role >= group.own.role else { return [] }
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
        return [.memberChanged(member), .memberGone(id)]
    }

    private mutating func ended(_ end: ChatEnd) -> [ConversationEffect] {
        group.become(.ended)
        return [.ended(end)]
    }
}
