import Base
import Testing

@testable import ChatProtocol

/// Permissions for every pair of roles, from rules stated here independently. `MembershipTests` has the
/// scenarios.
@Suite("Permissions by role")
struct AuthorityTests {
    private static let roles = MemberRole.allCases

    /// A group with host 1 and this profile as 2, in which 5 acts on 6.
    private struct Table {
        var group: GroupConversation
        var records = MemoryRecords()
        let (author, target): (MemberID, MemberID)

        init(
            author role: MemberRole, target other: MemberRole = .member, own: MemberRole = .member,
            membership: GroupConversation.Membership = .joined, isHost: Bool = false
        ) throws {
            author = try Sample.member(isHost ? 1 : 5)
            target = try Sample.member(6)
            group = GroupConversation(
                own: MemberReference(id: try Sample.member(2), role: own), host: try Sample.member(1),
                profile: Sample.group, membership: membership)
            for (id, role) in [(author, role), (target, other)] {
                records.members[id] = GroupMember(
                    id: id, role: role, profile: ContactProfile(displayName: id.text))
            }
        }

        /// Adds member 7, who forwards for the author.
        mutating func addForwarder(_ role: MemberRole) throws -> MemberID {
            let id = try Sample.member(7)
            records.members[id] = GroupMember(
                id: id, role: role, profile: ContactProfile(displayName: "forwarder"))
            return id
        }

        /// Returns the effects, except remembering the message.
        /// - Parameter forwarder: nil if the author's own connection delivers the event.
        mutating func effects(of event: GroupEvent, over forwarder: MemberID? = nil) throws
            -> [ConversationEffect]
        {
            try effects(of: .group(event), over: forwarder)
        }

        mutating func effects(of event: MessageEvent, over forwarder: MemberID?) throws
            -> [ConversationEffect]
        {
            var message = ChatMessage(event, id: try Sample.id(9))
            if forwarder != nil {
                let forwarded = ForwardedMessage(author: author, message: message, time: Sample.time)
                message = ChatMessage(.group(.forwarded(forwarded)), id: nil)
            }
            return group.receive(
                .message(message), at: Sample.time, over: forwarder ?? author, from: records
            ).filter { effect in
                switch effect {
                case .seen, .receiptDue: false
                default: true
                }
            }
        }
    }

    private static func rank(_ role: MemberRole) -> Int { roles.firstIndex(of: role)! }

    @Test("admins change roles up to their own")
    func otherRoles() throws {
        for author in Self.roles {
            for target in Self.roles {
                for new in Self.roles {
                    var table = try Table(author: author, target: target)
                    let effects = try table.effects(
                        of: .role(MemberReference(id: table.target, role: new)))
                    let isAllowed =
                        Self.rank(author) >= Self.rank(.admin) && Self.rank(author) >= Self.rank(new)
                        && Self.rank(author) >= Self.rank(target)
                    var expected = table.records.members[table.target]!
                    expected.role = new
                    #expect(
                        effects == (isAllowed ? [.memberChanged(expected)] : []), "\(author) \(target) \(new)"
                    )
                }
            }
        }
    }

    @Test("own role changes only by equal or higher")
    func ownRole() throws {
        for author in Self.roles {
            for own in Self.roles {
                for new in Self.roles {
                    var table = try Table(author: author, own: own)
                    let effects = try table.effects(
                        of: .role(MemberReference(id: table.group.own.id, role: new)))
                    let isAllowed =
                        Self.rank(author) >= Self.rank(.admin) && Self.rank(author) >= Self.rank(new)
                        && Self.rank(author) >= Self.rank(own)
                    #expect(effects.isEmpty != isAllowed, "\(author) \(own) \(new)")
                    #expect(table.group.own.role == (isAllowed ? new : own))
                }
            }
        }
    }

    @Test("moderators block and admins remove lower roles")
    func blockedAndRemoved() throws {
        for author in Self.roles {
            for target in Self.roles {
                let isAbove = Self.rank(author) >= Self.rank(target)
                for isBlocked in [true, false] {
                    var table = try Table(author: author, target: target)
                    let effects = try table.effects(of: .restriction(table.target, isBlocked: isBlocked))
                    var expected = table.records.members[table.target]!
                    expected.isBlocked = isBlocked
                    let isAllowed = Self.rank(author) >= Self.rank(.moderator) && isAbove
                    #expect(effects == (isAllowed ? [.memberChanged(expected)] : []))
                }
                for withMessages in [true, false] {
                    var table = try Table(author: author, target: target)
                    let effects = try table.effects(
                        of: .removal(table.target, withMessages: withMessages))
                    var gone = table.records.members[table.target]!
                    gone.status = .removed
                    let all: [ConversationEffect] =
                        [.memberChanged(gone), .memberGone(table.target)]
                        + (withMessages ? [.messagesOfMemberDeleted(table.target)] : [])
                    #expect(effects == (Self.rank(author) >= Self.rank(.admin) && isAbove ? all : []))
                }
            }
        }
    }

    @Test("own removal needs an equal or higher role")
    func removed() throws {
        for author in Self.roles {
            for own in Self.roles {
                var table = try Table(author: author, own: own)
                let effects = try table.effects(of: .removal(table.group.own.id, withMessages: true))
                let isAllowed =
                    Self.rank(author) >= Self.rank(.admin) && Self.rank(author) >= Self.rank(own)
                #expect(effects == (isAllowed ? [.ended(.removedFromGroup)] : []), "\(author) \(own)")
                #expect(table.group.membership == (isAllowed ? .ended : .joined))
                guard isAllowed else { continue }
                for event in [.deleted, .profile(GroupProfile(displayName: "x"))] as [GroupEvent] {
                    #expect(try table.effects(of: event).isEmpty)
                }
            }
        }
    }

    @Test("only owners change or delete the group")
    func owners() throws {
        var profile = Sample.group
        profile.displayName = "Coffee"
        var preferences = GroupPreferences()
        preferences[.files] = .init(isOn: false)
        for author in Self.roles {
            let isOwner = author == .owner
            var table = try Table(author: author)
            #expect(
                try table.effects(of: .profile(profile)) == (isOwner ? [.groupProfileChanged(profile)] : []))
            #expect(table.group.profile == (isOwner ? profile : Sample.group))
            var changed = table.group.profile
            changed.preferences = preferences
            table = try Table(author: author)
            let effects = try table.effects(of: .preferences(preferences))
            #expect(effects.isEmpty != isOwner)
            #expect(table.group.profile.preferences == (isOwner ? preferences : Sample.group.preferences))
            #expect(table.group.maySendFiles == false, "files are for admins here, and then for nobody")
            table = try Table(author: author)
            #expect(try table.effects(of: .profile(Sample.group)).isEmpty, "what is so already is no news")
            #expect(try table.effects(of: .deleted) == (isOwner ? [.ended(.groupDeleted)] : []))
            #expect(table.group.membership == (isOwner ? .ended : .joined))
        }
    }

    @Test("admins forward, with rights up to their own")
    func forwarders() throws {
        for author in Self.roles {
            for forwarder in Self.roles {
                let power = min(Self.rank(author), Self.rank(forwarder))
                let isAdmin = power >= Self.rank(.admin)
                for new in Self.roles {
                    var table = try Table(author: author)
                    let id = try table.addForwarder(forwarder)
                    let isAllowed = isAdmin && power >= Self.rank(new)
                    for target in [table.target, id] where target != id || power >= Self.rank(forwarder) {
                        var expected = table.records.members[target]!
                        expected.role = new
                        let effects = try table.effects(
                            of: .role(MemberReference(id: target, role: new)), over: id)
                        #expect(effects == (isAllowed ? [.memberChanged(expected)] : []), "\(effects)")
                    }
                }
                var table = try Table(author: author)
                let id = try table.addForwarder(forwarder)
                let removal = GroupEvent.removal(table.target, withMessages: false)
                #expect(try table.effects(of: removal, over: id).isEmpty != isAdmin)
                let renaming = GroupEvent.profile(GroupProfile(displayName: "x"))
                #expect(try table.effects(of: renaming, over: id).isEmpty == (power < Self.rank(.owner)))
                // A message needs only a forwarder.
                table = try Table(author: author, target: .owner)
                _ = try table.addForwarder(forwarder)
                table.records.items[MessageKey(try Sample.id(1), by: .member(table.target))] =
                    MemoryRecords.Item(
                        record: MessageRecord(time: Sample.time, hasFile: false), content: ChatContent(.text))
                let deletion = MessageEvent.deletion(try Sample.id(1), author: table.target)
                #expect(
                    try table.effects(of: deletion, over: id).isEmpty == (power < Self.rank(.owner)),
                    "only owners delete an owner's message")
                let message = MessageEvent.message(ContactTests.hello)
                let mayForward = Self.rank(forwarder) >= Self.rank(.admin)
                let mayWrite = Self.rank(author) >= Self.rank(.member)
                #expect(try table.effects(of: message, over: id).isEmpty != (mayForward && mayWrite))
            }
        }
    }

    @Test("admin cannot become owner by forwarding")
    func promotedForwarder() throws {
        for isHost in [false, true] {
            var table = try Table(author: .owner)
            let admin = isHost ? table.group.host : try table.addForwarder(.admin)
            table.records.members[admin] = GroupMember(
                id: admin, role: .admin, profile: ContactProfile(displayName: "admin"))
            let promotion = GroupEvent.role(MemberReference(id: admin, role: .owner))
            #expect(try table.effects(of: promotion, over: admin).isEmpty)
        }
    }

    @Test("connected members alone speak of themselves and the group")
    func connectedAuthors() throws {
        for isHost in [false, true] {
            var table = try Table(author: .admin, isHost: isHost)
            let (author, admin) = (table.author, try table.addForwarder(.admin))
            if !isHost {
                table.records.connections[author] = MemberConnection(
                    to: author, introducer: table.group.host, phase: .connected)
            }
            let reported = [ConversationEffect.passedOnNeedlessly(by: admin, from: author)]
            for event in [
                .group(.removal(table.target, withMessages: false)), .group(.left),
                .information(ContactProfile(displayName: "x")),
            ] as [MessageEvent] {
                #expect(try table.effects(of: event, over: admin) == reported)
                #expect(try !table.effects(of: event, over: nil).isEmpty)
            }
            // Their messages may come either way.
            #expect(try table.effects(of: .message(ContactTests.hello), over: admin).count == 1)
        }
    }

    @Test("admins announce new members up to their role")
    func newMembers() throws {
        for author in Self.roles {
            for role in Self.roles {
                for status in [nil, .heardOf, .joined, .left, .removed] as [GroupMember.Status?] {
                    var table = try Table(author: author)
                    let id = try Sample.member(7)
                    if let status {
                        table.records.members[id] = GroupMember(
                            id: id, role: .author, profile: ContactProfile(displayName: "old"),
                            status: status, isBlocked: true)
                    }
                    let information = MemberInformation(
                        MemberReference(id: id, role: role), profile: ContactProfile(displayName: "new"),
                        isBlocked: false)
                    let effects = try table.effects(of: .newMember(information))
                    let isAllowed =
                        Self.rank(author) >= Self.rank(.admin) && Self.rank(author) >= Self.rank(role)
                        && (status == nil || status == .heardOf)
                    let expected = GroupMember(
                        id: id, role: role, profile: ContactProfile(displayName: "new"),
                        isBlocked: status != nil, announcer: table.author)
                    #expect(effects == (isAllowed ? [.memberChanged(expected)] : []), "\(author) \(role)")
                }
            }
        }
    }

    @Test("moderators admit waiting members once")
    func accepted() throws {
        let memberships: [GroupConversation.Membership] = [.waiting, .joined, .ended]
        for author in Self.roles {
            for role in Self.roles {
                for membership in memberships {
                    for acceptance in [.accepted, .pending, .pendingReview]
                        as [GroupLinkInvitation.Acceptance]
                    {
                        var table = try Table(author: author, own: .observer, membership: membership)
                        let effects = try table.effects(
                            of: .linkAcceptance(
                                acceptance, MemberReference(id: table.group.own.id, role: role)))
                        let isAllowed =
                            Self.rank(author) >= Self.rank(.moderator) && Self.rank(author) >= Self.rank(role)
                            && membership == .waiting && acceptance == .accepted
                        #expect(effects.isEmpty != isAllowed)
                        #expect(table.group.membership == (isAllowed ? .joined : membership))
                        #expect(table.group.own.role == (isAllowed ? role : .observer))
                        // Acceptance of another member has no effect here.
                        table = try Table(author: author, own: .observer, membership: membership)
                        #expect(
                            try table.effects(
                                of: .linkAcceptance(
                                    acceptance, MemberReference(id: table.target, role: role))
                            ).isEmpty)
                    }
                }
            }
        }
    }

    @Test("host-only events count from the host only")
    func host() throws {
        let named = ContactProfile(displayName: "another name")
        for isHost in [true, false] {
            for role in Self.roles {
                var table = try Table(author: role, membership: .waiting, isHost: isHost)
                #expect(
                    try table.effects(of: .linkRejection(reason: ""))
                        == (isHost ? [.ended(.refusedByGroup)] : []))
                table = try Table(author: role, isHost: isHost)
                var expected = table.records.members[table.author]!
                expected.profile = named
                #expect(
                    try table.effects(of: .linkHost(named)) == (isHost ? [.memberChanged(expected)] : []))
                table = try Table(author: role, isHost: isHost)
                let new = MemberInformation(
                    MemberReference(id: try Sample.member(7), role: .owner), profile: named,
                    isBlocked: false)
                let effects = try table.effects(of: .introduction(new))
                let introduces = isHost && Self.rank(role) >= Self.rank(.admin)
                #expect(
                    effects.contains(.memberIntroduced(try Sample.member(7), by: table.author)) == introduces)
                #expect(effects.isEmpty != introduces)
            }
        }
    }

    @Test("leaving counts once, private events change no group")
    func others() throws {
        for role in Self.roles {
            var table = try Table(author: role)
            var gone = table.records.members[table.author]!
            gone.status = .left
            #expect(try table.effects(of: .left) == [.memberChanged(gone), .memberGone(table.author)])
            table.records.members[table.author] = gone
            #expect(try table.effects(of: .left).isEmpty, "who is out says nothing more")
            table = try Table(author: role)
            let before = table.group
            for event in [
                .memberInvitation(table.target, link: "simplex:/x"), .memberConnected(table.target),
            ] as [GroupEvent] {
                #expect(try table.effects(of: event).isEmpty && table.group == before)
            }
        }
    }
}

/// Every event in every phase of a member's connection.
@Suite("Phases of a member's connection")
struct MemberConnectionPhaseTests {
    private static func connection(_ phase: MemberConnection.Phase) throws -> MemberConnection {
        MemberConnection(
            to: try Sample.member(6), introducer: try Sample.member(1), phase: phase,
            link: phase == .toJoin ? "simplex:/secret" : nil)
    }

    @Test(
        "transitions follow the table",
        arguments: MemberConnection.Phase.allCases)
    func steps(phase: MemberConnection.Phase) throws {
        let before = try Self.connection(phase)
        var made = before
        let invitation = made.made("simplex:/link")
        #expect(
            invitation == (phase == .toInvite ? .memberInvitation(before.member, link: "simplex:/link") : nil)
        )
        #expect(made.phase == (phase == .toInvite ? .invited : phase))
        #expect(made.link == before.link, "what was made for somebody is theirs")

        var joined = before
        #expect(joined.joined() == (phase == .toJoin))
        #expect(joined.phase == (phase == .toJoin ? .connecting : phase))
        #expect(joined.link == nil, "a link that was joined is forgotten")

        var answered = before
        answered.answered()
        #expect(answered.phase == (phase == .invited ? .connecting : phase))

        var standing = before
        let isNews = phase == .invited || phase == .connecting
        #expect(standing.stands() == (isNews ? .memberConnected(before.member) : nil))
        #expect(standing.phase == (isNews ? .connected : phase))
        #expect(standing.stands() == nil, "it is told once")

        var ended = before
        ended.end()
        #expect(ended.phase == .toEnd && ended.link == nil)
        #expect(ended.made("x") == nil && !ended.joined() && ended.stands() == nil)
        ended.answered()
        #expect(ended.phase == .toEnd && !ended.phase.carriesMessages)
    }

    @Test("messages are carried from possible connection to end")
    func carrying() {
        let carrying = MemberConnection.Phase.allCases.filter(\.carriesMessages)
        #expect(carrying == [.invited, .connecting, .connected])
    }
}
