import Base

/// A group as seen by a member, over connections with the host and other members. A state machine without
/// I/O, like `ContactConversation`.
///
/// | state | event | next state |
/// |---|---|---|
/// | waiting | x.grp.link.acpt accepting this member | joined |
/// | waiting, joined | x.grp.link.reject; x.grp.mem.del of this member; x.grp.del | ended |
/// | waiting, joined | any other | unchanged |
/// | ended | any | ended; only records messages as seen |
///
/// Until two members have their own connection (`MemberConnection`), the host forwards their messages.
/// Messages that come both ways are recognised by author and id. Events that need a role are accepted only
/// from members who have it, and only through forwarders who have it too. A connected member's group events
/// are accepted only over its connection.
public struct GroupConversation: Hashable, Sendable {
    public enum Membership: String, Hashable, Sendable {
        /// Waits for admission by the members; cannot send.
        case waiting
        case joined
        case ended
    }

    /// This profile's id and role.
    public private(set) var own: MemberReference
    /// The member at the other end of the host connection.
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

    /// Creates the group from a contact's invitation. Until its introduction the host has the contact's
    /// profile.
    public init(_ invitation: GroupInvitation) {
        self.init(own: invitation.invited, host: invitation.host.id, profile: invitation.profile)
    }

    /// Creates the group from a link's reply.
    public init(_ invitation: GroupLinkInvitation) {
        self.init(
            own: invitation.invited, host: invitation.host.id, profile: invitation.profile,
            membership: invitation.acceptance == .accepted ? .joined : .waiting)
    }

    /// Whether messages with files may be sent.
    public var maySendFiles: Bool {
        membership == .joined && own.role.mayWrite && profile.preferences.allow(.files, to: own.role)
    }

    /// Processes one element of a body and returns its effects.
    /// - Parameter sender: member whose connection delivered it; nil for the host.
    /// - Throws: errors of `records`; the state is unchanged then.
    public mutating func receive<Records: ConversationRecords>(
        _ element: ChatBody.Element, at time: Timestamp, over sender: MemberID? = nil, from records: Records
    ) throws(Records.Failure) -> [ConversationEffect] {
        let sender = sender ?? host
        // Members who left may still have a connection.
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

    /// Processes a forwarded message, if the forwarder may forward.
    private mutating func receive<Records: ConversationRecords>(
        _ forwarded: ForwardedMessage, over sender: MemberID, from records: Records
    ) throws(Records.Failure) -> [ConversationEffect] {
        let limit = role(of: try records.member(sender), sender)
        guard limit.mayForward, forwarded.author != own.id, forwarded.message.event.isForwardable
        else { return [] }
        if try isNeedless(forwarded, records) {
            return [.passedOnNeedlessly(by: sender, from: forwarded.author)]
        }
        var effects: [ConversationEffect] = []
        if try records.member(forwarded.author) == nil {
            let name = forwarded.authorName.flatMap { $0.isEmpty ? nil : $0 } ?? "unknown member"
            // Role of unknown authors, as in official apps.
            effects.append(
                .memberChanged(
                    GroupMember(
                        id: forwarded.author, role: .author, profile: ContactProfile(displayName: name),
                        status: .heardOf)))
        }
        return try effects
            + receive(
                forwarded.message, by: forwarded.author, limit: limit, at: forwarded.time, from: records)
    }

    /// Whether only the author's own connection counts. Messages may come either way, because the author may
    /// not have noticed the connection yet.
    private func isNeedless<Records: ConversationRecords>(
        _ forwarded: ForwardedMessage, _ records: Records
    ) throws(Records.Failure) -> Bool {
        let phase = try records.connection(with: forwarded.author)
        guard forwarded.author == host || phase == .connected else { return false }
        switch forwarded.message.event {
        case .group, .information: return true
        default:
            guard let id = forwarded.message.id else { return false }
            return try records.isSeen(MessageKey(id, by: .member(forwarded.author)))
        }
    }

    /// - Parameter limit: role of the forwarder, whose rights the event cannot exceed.
    private mutating func receive<Records: ConversationRecords>(
        _ message: ChatMessage, by author: MemberID, limit: MemberRole = .owner, at time: Timestamp,
        from records: Records
    ) throws(Records.Failure) -> [ConversationEffect] {
        let key = message.id.map { MessageKey($0, by: .member(author)) }
        if let key, try records.isSeen(key) { return [] }
        let remembered = key.map { [ConversationEffect.seen($0)] } ?? []
        guard membership != .ended else { return remembered }
        let member = try records.member(author)
        let role = min(self.role(of: member, author), limit)
        if case .group(let event) = message.event {
            var change = MembershipChange(group: self, author: author, role: role, records)
            let effects = try change.effects(of: event)
            self = change.group
            return effects + remembered
        }
        var intake = MessageIntake(author: .member(author), time: time, records: records)
        intake.isHidden = member?.isBlocked ?? false
        intake.deletesInFull = profile.preferences.allow(.fullDelete, to: role)
        return try effects(of: message, by: member, role, intake) + remembered
    }

    /// The host counts as admin before its introduction, as it admitted this profile.
    private func role(of member: GroupMember?, _ id: MemberID) -> MemberRole {
        member?.role ?? (id == host ? .admin : .author)
    }

    private func effects<Records>(
        of message: ChatMessage, by member: GroupMember?, _ role: MemberRole, _ intake: MessageIntake<Records>
    ) throws(Records.Failure) -> [ConversationEffect] {
        // Members known only from forwarded messages may have any role.
        let mayWrite = member.map { $0.role.mayWrite || $0.status == .heardOf } ?? true
        switch message.event {
        case .message(var new):
            guard mayWrite else { return [] }
            // Like official apps, drop the forbidden file but keep the text.
            if !maySendFile(with: new, member) { new.file = nil }
            return try intake.new(message.id, new)
        case .description(let id, let part): return mayWrite ? try intake.describe(id, part) : []
        case .update(let update): return mayWrite ? try intake.update(update) : []
        case .deletion(let id, let author): return try delete(id, of: author, by: role, intake)
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

    /// Whether the member may send the message's file. Members known only from forwarded messages may, where
    /// any member may. Messages between a member and moderators may have any file.
    private func maySendFile(with message: NewMessage, _ member: GroupMember?) -> Bool {
        let role = member.map { $0.status == .heardOf ? .owner : $0.role } ?? .owner
        if case .voice = message.content.kind { return profile.preferences.allow(.voice, to: role) }
        if message.scope != nil, role.mayModerate || own.role.mayModerate { return true }
        return profile.preferences.allow(.files, to: role)
    }

    private func delete<Records>(
        _ id: SharedMessageID, of author: MemberID?, by role: MemberRole, _ intake: MessageIntake<Records>
    ) throws(Records.Failure) -> [ConversationEffect] {
        guard let author, .member(author) != intake.author else {
            return try intake.delete(id)
        }
        let target = author == own.id ? own.role : try intake.records.member(author)?.role ?? .author
        guard role.mayModerate, role >= target else { return [] }
        let key = MessageKey(id, by: author == own.id ? .own : .member(author))
        guard try intake.records.message(key)?.state != .deleted else { return [] }
        return [.deleted(key, at: intake.time, .moderator)]
    }

    // MARK: Changes of the group itself

    mutating func become(_ role: MemberRole) { own.role = role }
    mutating func become(_ profile: GroupProfile) { self.profile = profile }
    mutating func become(_ membership: Membership) { self.membership = membership }
}

extension MessageEvent {
    /// Whether a host forwards such an event. Other forwarded events cannot be attributed and are ignored.
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
