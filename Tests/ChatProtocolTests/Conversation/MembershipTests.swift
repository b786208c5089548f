import Base
import Testing

@testable import ChatProtocol

/// The group of `GroupFixture` over direct connections: 1 is the host, 2 this profile, 3 an owner, 4 a
/// member.
@Suite("Group over members' connections")
struct MembershipTests {
    private static let hello = ContactTests.hello
    private static let link = "simplex:/invitation#/?v=2"

    private func information(_ number: UInt8, _ role: MemberRole = .member, blocked: Bool = false) throws
        -> MemberInformation
    {
        MemberInformation(
            MemberReference(id: try Sample.member(number), role: role),
            profile: ContactProfile(displayName: "\(number)"), isBlocked: blocked)
    }

    private func connected(_ chat: inout GroupFixture, with number: UInt8) throws {
        let id = try Sample.member(number)
        chat.records.connections[id] = MemberConnection(
            to: id, introducer: chat.group.host, phase: .connected)
    }

    @Test("each introduced member gets one link")
    func introductions() throws {
        var chat = try GroupFixture()
        let (six, seven) = (try Sample.member(6), try Sample.member(7))
        try chat.receive(.group(.introduction(information(6, .owner))), 1)
        try chat.receive(.group(.introduction(information(7, blocked: true))), 2)
        #expect(chat.records.connections[six]?.phase == .toInvite)
        #expect(chat.records.connections[six]?.introducer == chat.group.host)
        #expect(chat.records.members[six]?.role == .owner)
        #expect(chat.records.members[seven]?.isBlocked == true)
        try chat.receive(.group(.introduction(information(6, .observer))), 3)
        #expect(chat.records.members[six]?.role == .owner, "who is known stays what it is")
        try chat.receive(.group(.introduction(information(2))), 4)
        #expect(chat.records.connections.count == 2, "nobody is introduced to themselves")
    }

    @Test("only the host may introduce")
    func strangers() throws {
        var chat = try GroupFixture()
        try chat.receive(.group(.introduction(information(6))), 1, over: 3)
        try chat.receive(.group(.introduction(information(6))), 2, by: 3)
        try chat.receive(.group(.newcomer(information(6), link: Self.link)), 3, by: 3)
        #expect(chat.records.connections.isEmpty)
        var plain = try GroupFixture(hostRole: .member)
        try plain.receive(.group(.introduction(information(6))), 1)
        #expect(plain.records.connections.isEmpty)
    }

    @Test("newcomer's forwarded link is joined")
    func newcomers() throws {
        var chat = try GroupFixture()
        let (six, seven) = (try Sample.member(6), try Sample.member(7))
        try chat.receive(.group(.newMember(information(6))), 1)
        try chat.receive(.group(.newcomer(information(6, .admin), link: Self.link)), 2)
        #expect(chat.records.connections[six]?.phase == .toJoin)
        #expect(chat.records.connections[six]?.link == Self.link)
        #expect(chat.records.members[six]?.role == .member, "the announcement counts")
        // Also over another admin's connection.
        try chat.receive(.group(.newcomer(information(7), link: Self.link)), 3, over: 3)
        #expect(chat.records.connections[seven]?.introducer == (try Sample.member(3)))
    }

    @Test("members cannot admit above their role")
    func escalation() throws {
        var chat = try GroupFixture()
        try chat.receive(.group(.newcomer(information(6), link: Self.link)), 1, over: 4)
        try chat.receive(.group(.newcomer(information(6, .owner), link: Self.link)), 2)
        try chat.receive(.group(.newMember(information(6, .owner))), 3)
        #expect(chat.records.connections.isEmpty)
        #expect(chat.records.members[try Sample.member(6)] == nil)
        // A repeated announcement does not change a member's role.
        try chat.receive(.group(.newMember(information(4, .admin))), 4)
        try chat.receive(.group(.introduction(information(4, .admin))), 5)
        #expect(chat.records.members[try Sample.member(4)]?.role == .member)
        // An admin cannot demote an owner, nor promote a member to owner.
        try chat.receive(.group(.role(.init(id: try Sample.member(3), role: .observer))), 6)
        try chat.receive(.group(.role(.init(id: try Sample.member(4), role: .owner))), 7)
        #expect(chat.records.members[try Sample.member(3)]?.role == .owner)
        #expect(chat.records.members[try Sample.member(4)]?.role == .member)
    }

    @Test("admin cannot replace an unconnected owner's link")
    func impersonatedOwner() throws {
        var chat = try GroupFixture()
        for role in [MemberRole.member, .owner] {
            try chat.receive(.group(.newcomer(information(3, role), link: Self.link)), 1)
        }
        #expect(chat.records.connections.isEmpty)
        // Even if the admin once announced the owner.
        let six = try Sample.member(6)
        try chat.receive(.group(.newMember(information(6))), 2)
        try chat.receive(.group(.role(.init(id: six, role: .owner))), 3, over: 3)
        try chat.receive(.group(.newcomer(information(6), link: Self.link)), 4)
        #expect(chat.records.members[six]?.role == .owner && chat.records.connections.isEmpty)
    }

    @Test("only the announcer forwards a link, once")
    func announcers() throws {
        var chat = try GroupFixture()
        let (four, six) = (try Sample.member(4), try Sample.member(6))
        // Not for introduced or known members.
        try chat.receive(.group(.newcomer(information(4), link: Self.link)), 1, over: 3)
        #expect(chat.records.connections[four] == nil)
        try chat.receive(.group(.newMember(information(6))), 2)
        try chat.receive(.group(.newMember(information(6))), 3, over: 3)
        try chat.receive(.group(.newcomer(information(6), link: Self.link)), 4, over: 3)
        #expect(chat.records.connections[six] == nil, "another one announced them")
        try chat.receive(.group(.newcomer(information(6), link: Self.link)), 5)
        #expect(chat.records.connections[six]?.introducer == chat.group.host)
        // After the connection was lost.
        chat.records.connections[six] = nil
        try chat.receive(.group(.newcomer(information(6), link: Self.link)), 6)
        #expect(chat.records.connections[six] == nil)
    }

    @Test("admin cannot demote or remove an owner")
    func ownRole() throws {
        var chat = try GroupFixture(ownRole: .owner)
        try chat.receive(.group(.role(.init(id: try Sample.member(2), role: .observer))), 1)
        try chat.receive(.group(.removal(try Sample.member(2), withMessages: false)), 2)
        #expect(chat.group.own.role == .owner && chat.group.membership == .joined)
    }

    @Test("existing connection is never replaced")
    func hijacking() throws {
        var chat = try GroupFixture()
        try connected(&chat, with: 4)
        try chat.receive(.group(.newcomer(information(4), link: "simplex:/other")), 1)
        try chat.receive(.group(.introduction(information(4))), 2)
        #expect(chat.records.connections[try Sample.member(4)]?.phase == .connected)
        #expect(chat.records.connections[try Sample.member(4)]?.link == nil)
        try chat.receive(.group(.newcomer(information(1), link: Self.link)), 3, over: 3)
        #expect(chat.records.connections.count == 1, "the host is connected")
    }

    @Test("message both ways counts once and notifies forwarder")
    func bothWays() throws {
        var chat = try GroupFixture()
        try connected(&chat, with: 4)
        try chat.receive(.message(Self.hello), 1, over: 4)
        try chat.receive(.message(Self.hello), 1, by: 4)
        #expect(chat.records.shown.count == 1 && chat.records.receipts == 1)
        #expect(chat.records.needless == [chat.group.host: try Sample.member(4)])
        // No report in the other order, nor before the connection is established.
        chat.records.needless = [:]
        try chat.receive(.message(Self.hello), 2, by: 4)
        try chat.receive(.message(Self.hello), 2, over: 4)
        chat.records.connections[try Sample.member(4)] = nil
        try chat.receive(.message(Self.hello), 2, by: 4)
        #expect(chat.records.shown.count == 2 && chat.records.needless.isEmpty)
    }

    @Test("only admins may forward messages")
    func forwarders() throws {
        var chat = try GroupFixture()
        let forwarded = { (id: UInt8) in
            MessageEvent.group(
                .forwarded(
                    ForwardedMessage(
                        author: try Sample.member(5),
                        message: ChatMessage(
                            .deletion(try Sample.id(90), author: nil), id: try Sample.id(id)),
                        time: Sample.time)))
        }
        try chat.receive(forwarded(1), 50, over: 4)
        #expect(chat.records.items.isEmpty)
        try chat.receive(forwarded(1), 51, over: 3)
        #expect(chat.records.items[try chat.key(90, by: 5)]?.record.state == .deleted)
    }

    @Test("departed member loses its connection and voice")
    func gone() throws {
        var chat = try GroupFixture()
        for number in [UInt8(3), 4] { try connected(&chat, with: number) }
        try chat.receive(.group(.left), 1, over: 3)
        try chat.receive(.group(.removal(try Sample.member(4), withMessages: false)), 2)
        #expect(chat.records.connections.isEmpty)
        try chat.receive(.message(Self.hello), 3, over: 3)
        try chat.receive(.message(Self.hello), 4, over: 4)
        #expect(chat.records.shown.isEmpty)
        // Earlier messages may still be forwarded.
        try chat.receive(.message(Self.hello), 5, by: 4)
        #expect(chat.records.shown.count == 1)
        // An id cannot rejoin.
        try chat.receive(.group(.newcomer(information(4), link: Self.link)), 6)
        try chat.receive(.group(.introduction(information(4))), 7)
        #expect(chat.records.connections.isEmpty)
        #expect(chat.records.members[try Sample.member(4)]?.status == .removed)
    }

    @Test("wrong person on a connection loses it")
    func mistaken() throws {
        var chat = try GroupFixture()
        try connected(&chat, with: 4)
        let profile = ContactProfile(displayName: "Eve")
        try chat.receive(.group(.memberInformation(try Sample.member(3), profile)), 1, over: 4)
        #expect(chat.records.connections.isEmpty)
        #expect(chat.records.members[try Sample.member(4)]?.profile.displayName == "4")
        try connected(&chat, with: 4)
        try chat.receive(.group(.memberInformation(try Sample.member(4), profile)), 2, over: 4)
        #expect(chat.records.members[try Sample.member(4)]?.profile.displayName == "Eve")
        #expect(chat.records.connections.count == 1)
    }

    @Test("contact deletion does not affect groups")
    func contactDeleted() throws {
        var chat = try GroupFixture()
        try connected(&chat, with: 4)
        try chat.receive(.contactDeleted, 1, over: 4)
        try chat.receive(.contactDeleted, 2)
        #expect(chat.group.membership == .joined && chat.records.connections.count == 1)
    }

    @Test("moderator deletes messages before or after arrival")
    func moderation() throws {
        var chat = try GroupFixture()
        let moderator = try Sample.member(8)
        chat.records.members[moderator] = GroupMember(
            id: moderator, role: .moderator, profile: ContactProfile(displayName: "8"))
        try chat.receive(.message(Self.hello), 1, over: 4)
        try chat.receive(.deletion(try Sample.id(1), author: try Sample.member(4)), 2, over: 8)
        try chat.receive(.deletion(try Sample.id(3), author: try Sample.member(4)), 4, over: 8)
        try chat.receive(.message(Self.hello), 3, over: 4)
        #expect(chat.records.shown.isEmpty)
        try chat.receive(.message(Self.hello), 5, over: 3)
        try chat.receive(.deletion(try Sample.id(5), author: try Sample.member(3)), 6, over: 8)
        #expect(chat.records.shown.count == 1, "an owner is above a moderator")
    }

    @Test("official member events decode, long links do not")
    func reading() throws {
        let text = #"""
            {"event":"x.grp.mem.fwd","params":{"memberInfo":{"memberId":"AAEC","memberRole":"member","v":"1-16",
            "profile":{"displayName":"dora","fullName":""}},"memberIntro":{"groupConnReq":"LINK"}}}
            """#
        let event = ChatMessage(decoding: Array(text.utf8))?.event
        guard case .group(.newcomer(let member, "LINK")) = event else {
            Issue.record("this is a newcomer")
            return
        }
        #expect(member.reference.id.bytes == [0, 1, 2] && member.profile.displayName == "dora")
        let long = text.replacing("LINK", with: String(repeating: "x", count: 8001))
        #expect(ChatMessage(decoding: Array(long.utf8)) == nil)
        let without = text.replacing(#""groupConnReq""#, with: #""directConnReq""#)
        #expect(ChatMessage(decoding: Array(without.utf8)) == nil)
    }
}

@Suite("Member connection")
struct MemberConnectionTests {
    private func connection(_ phase: MemberConnection.Phase) throws -> MemberConnection {
        MemberConnection(to: try Sample.member(4), introducer: try Sample.member(1), phase: phase, link: "x")
    }

    @Test("invited member's connection is announced once")
    func invited() throws {
        var connection = try connection(.toInvite)
        let made = [connection.made("l"), connection.made("l")]
        #expect(made == [.memberInvitation(try Sample.member(4), link: "l"), nil])
        #expect(connection.phase.carriesMessages, "the member may have it, and connect at any moment")
        connection.answered()
        #expect(connection.phase == .connecting)
        let stood = [connection.stands(), connection.stands()]
        #expect(stood == [.memberConnected(try Sample.member(4)), nil])
        #expect(connection.phase == .connected)
        connection.answered()
        #expect(connection.phase == .connected)
    }

    @Test("joined connection carries messages early")
    func joined() throws {
        var connection = try connection(.toJoin)
        let early = connection.stands()
        let joined = [connection.joined(), connection.joined()]
        #expect(early == nil && joined == [true, false])
        #expect(connection.phase.carriesMessages && connection.link == nil)
        let report = connection.stands()
        #expect(report != nil)
    }

    @Test("ended connection never resumes", arguments: MemberConnection.Phase.allCases)
    func ended(_ phase: MemberConnection.Phase) throws {
        var connection = try connection(phase)
        connection.end()
        let made = connection.made("l")
        let joined = connection.joined()
        let report = connection.stands()
        #expect(made == nil && !joined && report == nil)
        connection.answered()
        #expect(connection.phase == .toEnd && !connection.phase.carriesMessages && connection.link == nil)
    }
}
