import Base

/// A group, as a member sees it: over the connection to the host, who took it in, and over those with other members.
/// A machine without input and output, as `ContactConversation`.
///
/// | state | on | becomes |
/// |---|---|---|
/// | waiting | x.grp.link.acpt of this member: accepted | joined |
/// | waiting, joined | x.grp.link.reject; x.grp.mem.del of this member; x.grp.del | ended |
/// | waiting, joined | anything else | as it is |
/// | ended | anything | ended; nothing follows but that what was seen is remembered |
///
/// While a pair of members has no connection of its own (`MemberConnection`), the host passes on what they write to each
/// other; what comes both ways is known by its author and id. What needs a role is only taken from who has it.
public struct GroupConversation: Hashable, Sendable {
    public enum Membership: Hashable, Sendable {
        /// Its members look at who comes first; nothing can be sent.
        case waiting
        case joined
        case ended
    }

    /// This profile, within the group.
    public private(set) var own: MemberReference
    /// Who is at the other end of the connection.
    public let host: MemberID
    public private(set) var profile: GroupProfile
    public private(set) var versions: ClosedRange<UInt16>?
    public private(set) var membership: Membership

    public init(
        own: MemberReference, host: MemberID, profile: GroupProfile,
        versions: ClosedRange<UInt16>? = nil, membership: Membership = .joined
    ) {
        self.own = own
        self.host = host
        self.profile = profile
        self.versions = versions
        self.membership = membership
    }

    /// Of who was invited by a contact. The host is known as the contact until it says more.
    public init(_ invitation: GroupInvitation) {
        self.init(own: invitation.invited, host: invitation.host.id, profile: invitation.profile)
    }

    /// Of who came by a link.
    public init(_ invitation: GroupLinkInvitation) {
        self.init(
            own: invitation.invited, host: invitation.host.id, profile: invitation.profile,
            membership: invitation.acceptance == .accepted ? .joined : .waiting)
    }

    /// Whether messages with files may be sent; why not, where they may not.
    public var maySendFiles: Bool {
        membership == .joined && own.role.mayWrite && profile.preferences.allow(.files, to: own.role)
    }

    /// What follows from one element of a body.
    /// - Parameter sender: the member at the other end of the connection over which it came; nil: the host.
    /// - Throws: what `records` throw; nothing has changed then.
    public mutating func receive<Records: ConversationRecords>(
        _ element: ChatBody.Element, at time: Timestamp, over sender: MemberID? = nil, from records: Records
    ) throws(Records.Failure) -> [ConversationEffect] {
        let sender = sender ?? host
        // Who is out may still have the connection.
        guard try records.member(sender)?.status.isInside ?? true else { return [] }
        switch element {
        case .unreadable: return []
        case .chunk(let chunk):
            guard membership != .ended else { return [] }
            return try MessageIntake(author: .member(sender), time: time, records: records).chunk(chunk)
        case .message(let message):
            if sender == host, let versions = message.versions { self.versions = versions }
            if case .group(.forwarded(let forwarded)) = message.event {
                return try receive(forwarded, over: sender, from: records)
            }
            let effects = try receive(message, by: sender, at: time, from: records)
            return effects + (message.event.wantsReceipt && !effects.isEmpty ? [.receiptDue] : [])
        }
    }

    /// What somebody else wrote counts only from who may pass it on.
    private mutating func receive<Records: ConversationRecords>(
        _ forwarded: ForwardedMessage, over sender: MemberID, from records: Records
    ) throws(Records.Failure) -> [ConversationEffect] {
        guard role(of: try records.member(sender), sender).mayForward, forwarded.author != own.id,
            forwarded.message.event.isForwardable
        else { return [] }
        if let id = forwarded.message.id,
            try records.isSeen(MessageKey(id, by: .member(forwarded.author))),
            try records.connection(with: forwarded.author) == .connected
        {
            return [.passedOnNeedlessly(by: sender, from: forwarded.author)]
        }
        var effects: [ConversationEffect] = []
        if try records.member(forwarded.author) == nil {
            let name = forwarded.authorName.flatMap { $0.isEmpty ? nil : $0 } ?? "unknown member"
            // In official programs too whoever is only heard of has this role.
            effects.append(
                .memberChanged(
                    GroupMember(
                        id: forwarded.author, role: .author, profile: ContactProfile(displayName: name),
                        status: .heardOf)))
        }
        return try effects
            + receive(forwarded.message, by: forwarded.author, at: forwarded.time, from: records)
    }

    private mutating func receive<Records: ConversationRecords>(
        _ message: ChatMessage, by author: MemberID, at time: Timestamp, from records: Records
    ) throws(Records.Failure) -> [ConversationEffect] {
        let key = message.id.map { MessageKey($0, by: .member(author)) }
        if let key, try records.isSeen(key) { return [] }
        let remembered = key.map { [ConversationEffect.seen($0)] } ?? []
        guard membership != .ended else { return remembered }
        let member = try records.member(author)
        if case .group(let event) = message.event {
            var change = MembershipChange(
                group: self, author: author, role: role(of: member, author), records)
            let effects = try change.effects(of: event)
            self = change.group
            return effects + remembered
        }
        var intake = MessageIntake(author: .member(author), time: time, records: records)
        intake.isHidden = member?.isBlocked ?? false
        intake.deletesInFull = profile.preferences.allow(.fullDelete, to: role(of: member, author))
        return try effects(of: message, by: member, intake) + remembered
    }

    /// The host is believed to be one before it was introduced: it has let this member in.
    private func role(of member: GroupMember?, _ id: MemberID) -> MemberRole {
        member?.role ?? (id == host ? .admin : .author)
    }

    private func effects<Records>(
        of message: ChatMessage, by member: GroupMember?, _ intake: MessageIntake<Records>
    ) throws(Records.Failure) -> [ConversationEffect] {
        // Of whom only is heard it is not known that they may not.
        let mayWrite = member.map { $0.role.mayWrite || $0.status == .heardOf } ?? true
        switch message.event {
        case .message(var new):
            guard mayWrite else { return [] }
            // As official programs have it, such a file is not received; what was written with it is here.
            if !maySendFile(with: new, member) { new.file = nil }
            return try intake.new(message.id, new)
        case .description(let id, let part): return mayWrite ? try intake.describe(id, part) : []
        case .update(let update): return mayWrite ? try intake.update(update) : []
        case .deletion(let id, let author): return try delete(id, of: author, by: member, intake)
        case .reaction(let reaction):
            guard let author = reaction.author else { return [] }
            return try intake.react(reaction, to: author == own.id ? .own : .member(author))
        case .fileCancelled(let id): return try intake.cancelFile(id)
        case .fileAccepted(let id, _): return [.fileAccepted(id)]
        case .information(let profile):
            guard var member, member.profile != profile else { return [] }
            member.profile = profile
            return [.memberChanged(member)]
        case .contactRequest, .nothingToSay, .contactDeleted, .group, .unknown: return []
        }
    }

    /// Whether the group lets a member send the file of a message. Of whom only is heard it is not known that they may
    /// not where others may; what a member and those who look after the group write to each other may have any file.
    private func maySendFile(with message: NewMessage, _ member: GroupMember?) -> Bool {
        let role = member.map { $0.status == .heardOf ? .owner : $0.role } ?? .owner
        if case .voice = message.content.kind { return profile.preferences.allow(.voice, to: role) }
        if message.scope != nil, role.mayModerate || own.role.mayModerate { return true }
        return profile.preferences.allow(.files, to: role)
    }

    private func delete<Records>(
        _ id: SharedMessageID, of author: MemberID?, by member: GroupMember?, _ intake: MessageIntake<Records>
    ) throws(Records.Failure) -> [ConversationEffect] {
        guard let author, .member(author) != intake.author else {
            return try intake.delete(id)
        }
        let target = author == own.id ? own.role : try intake.records.member(author)?.role ?? .author
        guard let member, member.role.mayModerate, member.role >= target else { return [] }
        let key = MessageKey(id, by: author == own.id ? .own : .member(author))
        guard try intake.records.message(key)?.state != .deleted else { return [] }
        return [.deleted(key, at: intake.time, .moderator)]
    }

    // MARK: What changes the group itself

    mutating func become(_ role: MemberRole) { own.role = role }
    mutating func become(_ profile: GroupProfile) { self.profile = profile }
    mutating func become(_ membership: Membership) { self.membership = membership }
}

extension MessageEvent {
    /// What a host passes on. Other events in a forwarded message cannot be attributed to their author and are ignored.
    fileprivate var isForwardable: Bool {
        switch self {
        case .message(let new): new.file?.isInline != true
        case .description, .update, .deletion, .reaction, .fileCancelled, .information: true
        case .group(let event):
            switch event {
            case .newMember, .role, .restriction, .removal, .left, .deleted, .profile, .preferences: true
            default: false
            }
        case .contactRequest, .nothingToSay, .fileAccepted, .contactDeleted, .unknown: false
        }
    }
}
