import Base
import Testing

@testable import ChatProtocol

/// Who may do what in a group, for every role of who does it and of whom it is done to, by rules that are written down
/// here once more. `MembershipTests` tells the stories; this is the table.
@Suite("What each role may do to each other one")
struct AuthorityTests {
    private static let roles = MemberRole.allCases

    /// A group whose host is 1, this profile 2, and in which 5 does something to 6.
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

        /// What follows, without what is remembered of every message.
        mutating func effects(of event: GroupEvent) throws -> [ConversationEffect] {
            let message = ChatMessage(.group(event), id: try Sample.id(9))
            return group.receive(
                .message(message), at: Sample.time, over: author, from: records
            ).filter { effect in
                switch effect {
                case .seen, .receiptDue: false
                default: true
                }
            }
        }
    }

    private static func rank(_ role: MemberRole) -> Int { roles.firstIndex(of: role)! }

    @Test("roles of others are changed by admins and owners, up to their own, of nobody above themselves")
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

    @Test("this profile's own role is changed by who is not below it, and by nobody to what is above them")
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

    @Test("members are blocked by who may moderate, and removed by who may let in, from below themselves")
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

    @Test("this profile is removed by who is not below it; from then on nothing counts")
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

    @Test("the group itself is its owners': what it is called and allows, and its end")
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

    @Test("who comes in is announced by who may let in, as nobody above themselves, and only who is new")
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

    @Test("who waits to be let in is let in by who may moderate, up to their own role, and once")
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
                        // Of somebody else it says nothing here.
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

    @Test("what only the host may say counts from nobody else, whatever they are")
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

    @Test("who leaves is gone once, whatever they were; events for one person alone change no group")
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

/// Every step of a connection with a member, in every phase.
@Suite("The phases of a connection with a member")
struct MemberConnectionPhaseTests {
    private static func connection(_ phase: MemberConnection.Phase) throws -> MemberConnection {
        MemberConnection(
            to: try Sample.member(6), introducer: try Sample.member(1), phase: phase,
            link: phase == .toJoin ? "simplex:/secret" : nil)
    }

    @Test(
        "each step goes from where the table says, and elsewhere it changes nothing",
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

    @Test("messages are given to it from when the member may connect, until it ends")
    func carrying() {
        let carrying = MemberConnection.Phase.allCases.filter(\.carriesMessages)
        #expect(carrying == [.invited, .connecting, .connected])
    }
}
