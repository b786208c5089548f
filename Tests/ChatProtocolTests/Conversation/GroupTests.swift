import Base
import Testing

@testable import ChatProtocol

/// A group with its host (1), this profile (2), an owner (3), a member (4) and an observer (5).
struct GroupFixture {
    var group: GroupConversation
    var records = MemoryRecords()

    /// As in `Sample`; all members may send files.
    static var profile: GroupProfile {
        var profile = Sample.group
        profile.preferences[.files] = nil
        return profile
    }

    init(hostRole: MemberRole = .admin, ownRole: MemberRole = .member, isWaiting: Bool = false) throws {
        let own = MemberReference(id: try Sample.member(2), role: ownRole)
        group = GroupConversation(
            own: own, host: try Sample.member(1), profile: Self.profile,
            membership: isWaiting ? .waiting : .joined)
        for (number, role) in [(1, hostRole), (3, .owner), (4, .member), (5, .observer)] {
            let id = try Sample.member(UInt8(number))
            records.members[id] = GroupMember(
                host: MemberReference(id: id, role: role), profile: ContactProfile(displayName: "\(number)"))
        }
    }

    mutating func receive(_ message: ChatMessage, over sender: MemberID? = nil) {
        records.perform(group.receive(.message(message), at: Sample.time, over: sender, from: records))
    }

    /// Received over the member's own connection.
    mutating func receive(_ event: MessageEvent, _ id: UInt8, over sender: UInt8) throws {
        receive(ChatMessage(event, id: try Sample.id(id)), over: try Sample.member(sender))
    }

    /// Sent by the host itself.
    mutating func receive(_ event: MessageEvent, _ id: UInt8) throws {
        receive(ChatMessage(event, id: try Sample.id(id)))
    }

    /// Forwarded by the host.
    mutating func receive(_ event: MessageEvent, _ id: UInt8, by author: UInt8, name: String? = nil) throws {
        let forwarded = ForwardedMessage(
            author: try Sample.member(author), authorName: name,
            message: ChatMessage(event, id: try Sample.id(id)), time: Sample.time)
        receive(ChatMessage(.group(.forwarded(forwarded)), id: nil))
    }

    func key(_ id: UInt8, by author: UInt8) throws -> MessageKey {
        MessageKey(try Sample.id(id), by: .member(try Sample.member(author)))
    }
}

@Suite("Group over the host's connection")
struct GroupTests {
    static let file = ContactTests.file
    static let hello = ContactTests.hello

    @Test("forwarded messages and files arrive once")
    func forwarded() throws {
        var chat = try GroupFixture()
        let part = DescriptionPart(text: "whole", number: 1, isLast: true)
        try chat.receive(.message(Self.hello), 1)
        for _ in 0..<2 {
            try chat.receive(.message(Self.file), 2, by: 4)
            try chat.receive(.description(of: try Sample.id(2), part), 3, by: 4)
        }
        #expect(chat.records.shown.count == 2 && chat.records.receipts == 1)
        #expect(chat.records.items[try chat.key(2, by: 4)]?.description == "whole")
    }

    @Test("equal ids of two members are distinct")
    func sameID() throws {
        var chat = try GroupFixture()
        try chat.receive(.message(Self.hello), 1, by: 4)
        try chat.receive(.message(Self.hello), 1, by: 3)
        #expect(chat.records.shown.count == 2)
    }

    @Test("unknown author has the forwarder's name")
    func unknownAuthor() throws {
        var chat = try GroupFixture()
        try chat.receive(.message(Self.hello), 1, by: 9, name: "Carol")
        try chat.receive(.message(Self.hello), 2, by: 10, name: "")
        #expect(chat.records.members[try Sample.member(9)]?.profile.displayName == "Carol")
        #expect(chat.records.members[try Sample.member(10)]?.profile.displayName == "unknown member")
        #expect(chat.records.shown.count == 2)
    }

    @Test("only admins may forward")
    func plainHost() throws {
        var chat = try GroupFixture(hostRole: .member)
        try chat.receive(.message(Self.hello), 1, by: 4)
        #expect(chat.records.shown.isEmpty)
    }

    @Test("host cannot forge own or forward private events")
    func forged() throws {
        var chat = try GroupFixture()
        try chat.receive(.message(Self.hello), 1, by: 2)
        try chat.receive(.contactDeleted, 2, by: 4)
        try chat.receive(.group(.linkRejection(reason: "x")), 3, by: 1)
        var inline = Self.file
        inline.file?.way = .sentInline
        try chat.receive(.message(inline), 4, by: 4)
        #expect(chat.records.shown.isEmpty && chat.group.membership == .joined)
    }

    @Test("observers cannot write, blocked messages are hidden")
    func roles() throws {
        var chat = try GroupFixture()
        try chat.receive(.message(Self.hello), 1, by: 5)
        try chat.receive(.group(.restriction(try Sample.member(4), isBlocked: true)), 2)
        try chat.receive(.message(Self.hello), 3, by: 4)
        #expect(chat.records.shown.isEmpty && chat.records.items.count == 1)
        for (id, target) in [(UInt8(30), UInt8(3)), (31, 29)] {
            let other = MessageUpdate(try Sample.id(target), content: ChatContent(.text, text: "blocked"))
            try chat.receive(.update(other), id, by: 4)
        }
        #expect(chat.records.items.count == 1)
        #expect(chat.records.items[try chat.key(3, by: 4)]?.content == Self.hello.content)
        try chat.receive(
            .group(
                .newMember(
                    MemberInformation(
                        MemberReference(id: try Sample.member(4), role: .member), profile: Sample.profile))),
            4)
        #expect(chat.records.members[try Sample.member(4)]?.isBlocked == true)
        try chat.receive(.group(.restriction(try Sample.member(4), isBlocked: false)), 5)
        try chat.receive(.group(.role(.init(id: try Sample.member(5), role: .member))), 6)
        try chat.receive(.message(Self.hello), 7, by: 4)
        try chat.receive(.message(Self.hello), 8, by: 5)
        #expect(chat.records.shown.count == 2)
    }

    @Test("moderators delete messages of lower roles")
    func moderation() throws {
        var chat = try GroupFixture()
        for author in [UInt8(3), 4] { try chat.receive(.message(Self.hello), author, by: author) }
        let (owner, member) = (try Sample.member(3), try Sample.member(4))
        try chat.receive(.deletion(try Sample.id(3), author: owner), 20, by: 4)
        try chat.receive(.deletion(try Sample.id(3), author: owner), 21)
        #expect(chat.records.shown.count == 2)
        try chat.receive(.deletion(try Sample.id(4), author: member), 22)
        #expect(chat.records.shown.count == 1)
        try chat.receive(.deletion(try Sample.id(3), author: owner), 23, by: 3)
        #expect(chat.records.shown.isEmpty)
        let own = MessageKey(try Sample.id(30), by: .own)
        chat.records.items[own] = .init(
            record: .init(time: Sample.time, hasFile: true), content: ChatContent(.file))
        try chat.receive(.deletion(try Sample.id(30), author: try Sample.member(2)), 31)
        #expect(chat.records.items[own]?.record.state == .deleted)
    }

    @Test("full deletion needs the group's permission", arguments: [nil, false, true])
    func fullDeletion(isOn: Bool?) throws {
        var chat = try GroupFixture()
        if let isOn {
            var preferences = GroupPreferences()
            preferences[.fullDelete] = .init(isOn: isOn)
            try chat.receive(.group(.preferences(preferences)), 1, over: 3)
        }
        let author = try Sample.member(4)
        try chat.receive(.message(Self.hello), 2, by: 4)
        let effects = try chat.group.receive(
            .message(ChatMessage(.deletion(Sample.id(2), author: nil), id: Sample.id(3))), at: Sample.time,
            over: author, from: chat.records)
        let key = MessageKey(try Sample.id(2), by: .member(author))
        #expect(
            effects.contains(.deleted(key, at: Sample.time, isOn == true ? .authorInFull : .author)),
            "\(effects)")
    }

    @Test("waiting descriptions are limited per author")
    func waitingDescriptions() throws {
        var chat = try GroupFixture()
        let part = DescriptionPart(text: "part", number: 1, isLast: true)
        try chat.receive(.group(.restriction(try Sample.member(4), isBlocked: true)), 255)
        // A hidden message needs no description.
        for id in UInt8(1)...40 {
            var described = Self.file
            described.file?.way = .described(part)
            try chat.receive(.message(described), id, by: 4)
            try chat.receive(.message(Self.file), 40 + id, by: 4)
            try chat.receive(.description(of: try Sample.id(40 + id), part), 80 + id, by: 4)
        }
        #expect(chat.records.partial.isEmpty)
        // Each missing message has its own.
        for id in UInt8(121)...185 {
            try chat.receive(.description(of: try Sample.id(id), part), id, by: 3)
        }
        #expect(chat.records.partial.count == 64)
        try chat.receive(.description(of: try Sample.id(1), part), 2)
        try chat.receive(.message(Self.file), 1)
        let host = MessageKey(try Sample.id(1), by: .member(chat.group.host))
        #expect(chat.records.items[host]?.description == "part")
    }

    @Test("members join, change, leave and are removed")
    func members() throws {
        var chat = try GroupFixture()
        let new = MemberReference(id: try Sample.member(6), role: .member)
        let information = MemberInformation(new, profile: ContactProfile(displayName: "Dora"))
        try chat.receive(.group(.newMember(information)), 1, by: 4)
        #expect(chat.records.members[new.id] == nil)
        try chat.receive(.group(.introduction(information)), 2)
        #expect(chat.records.members[new.id]?.profile.displayName == "Dora")
        try chat.receive(.information(ContactProfile(displayName: "Dorothea")), 3, by: 6)
        #expect(chat.records.members[new.id]?.profile.displayName == "Dorothea")
        try chat.receive(.message(Self.hello), 4, by: 6)
        try chat.receive(.group(.left), 5, by: 6)
        #expect(chat.records.members[new.id]?.status == .left && chat.records.shown.count == 1)
        try chat.receive(.group(.removal(new.id, withMessages: true)), 6)
        #expect(chat.records.members[new.id]?.status == .removed && chat.records.shown.isEmpty)
        try chat.receive(.group(.removal(try Sample.member(3), withMessages: true)), 7)
        #expect(chat.records.members[try Sample.member(3)]?.status == .joined)
    }

    @Test("only owners change or end the group")
    func owners() throws {
        var chat = try GroupFixture()
        let other = GroupProfile(displayName: "Other")
        try chat.receive(.group(.profile(other)), 1)
        try chat.receive(.group(.deleted), 2)
        #expect(chat.group.profile == GroupFixture.profile && chat.group.membership == .joined)
        try chat.receive(.group(.profile(other)), 3, over: 3)
        #expect(chat.records.groupProfiles == [other])
        #expect(chat.group.maySendFiles)
        var preferences = GroupPreferences()
        preferences[.files] = .init(isOn: false)
        try chat.receive(.group(.preferences(preferences)), 4, over: 3)
        #expect(!chat.group.maySendFiles)
        try chat.receive(.group(.deleted), 5, over: 3)
        #expect(chat.records.ends == [.groupDeleted] && chat.group.membership == .ended)
        try chat.receive(.message(Self.hello), 6)
        #expect(chat.records.shown.isEmpty)
    }

    @Test("forbidden file is dropped but its text kept", arguments: [false, true])
    func forbiddenFiles(isInline: Bool) throws {
        var chat = try GroupFixture()
        var profile = GroupFixture.profile
        profile.preferences[.files] = .init(isOn: true, role: .admin)
        profile.preferences[.voice] = .init(isOn: false)
        chat.group.become(profile)
        let part = DescriptionPart(text: "whole", number: 1, isLast: true)
        let way: FileInvitation.Way = isInline ? .sentInline : .described(part)
        func message(_ kind: ChatContent.Kind, _ scope: GroupScope? = nil) -> MessageEvent {
            .message(
                NewMessage(
                    ChatContent(kind, text: "look"), file: FileInvitation(name: "a", size: 5, way: way),
                    scope: scope))
        }
        func hasFile(_ id: UInt8, by author: UInt8) throws -> Bool? {
            guard let item = chat.records.items[try chat.key(id, by: author)] else { return nil }
            #expect(item.content.text == "look" && item.record.hasFile == (item.file != nil))
            return item.file != nil && (isInline ? item.transfer != nil : item.description == "whole")
        }
        try chat.receive(message(.file), 1, over: 4)
        #expect(try hasFile(1, by: 4) == false, "a member may not")
        try chat.receive(.description(of: try Sample.id(1), part), 2, over: 4)
        #expect(try hasFile(1, by: 4) == false)
        try chat.receive(message(.file), 3, over: 3)
        #expect(try hasFile(3, by: 3) == true, "an owner may")
        try chat.receive(message(.voice(seconds: 2)), 4, over: 3)
        #expect(try hasFile(4, by: 3) == false, "nobody sends voice messages")
        try chat.receive(message(.file, GroupScope(member: nil)), 5)
        #expect(try hasFile(5, by: 1) == true)
        try chat.receive(message(.file, GroupScope(member: nil)), 6, over: 4)
        #expect(try hasFile(6, by: 4) == false, "a member has no chat with this one")
        chat.group.become(MemberRole.moderator)
        try chat.receive(message(.file, GroupScope(member: nil)), 7, over: 4)
        #expect(try hasFile(7, by: 4) == true, "but with those who look after the group")
    }

    @Test("own role and removal need permission")
    func own() throws {
        var chat = try GroupFixture()
        chat.group.become(GroupProfile(displayName: "Tea"))
        #expect(chat.group.maySendFiles)
        try chat.receive(.group(.role(.init(id: try Sample.member(2), role: .observer))), 1, by: 4)
        #expect(chat.group.maySendFiles)
        try chat.receive(.group(.role(.init(id: try Sample.member(2), role: .observer))), 2)
        #expect(!chat.group.maySendFiles)
        try chat.receive(.group(.removal(try Sample.member(2), withMessages: false)), 3, by: 4)
        #expect(chat.group.membership == .joined)
        try chat.receive(.group(.removal(try Sample.member(2), withMessages: false)), 4)
        #expect(chat.records.ends == [.removedFromGroup])
    }

    @Test("joiner by link waits for admission")
    func waiting() throws {
        var chat = try GroupFixture(isWaiting: true)
        chat.group.become(GroupProfile(displayName: "Tea"))
        #expect(!chat.group.maySendFiles)
        let other = MemberReference(id: try Sample.member(4), role: .member)
        try chat.receive(.group(.linkAcceptance(.accepted, other)), 1)
        #expect(chat.group.membership == .waiting)
        let own = MemberReference(id: try Sample.member(2), role: .member)
        try chat.receive(.group(.linkAcceptance(.pendingReview, own)), 2)
        #expect(chat.group.membership == .waiting)
        try chat.receive(.group(.linkAcceptance(.accepted, own)), 3)
        #expect(chat.group.maySendFiles)
        // An admitted member's role follows its changes.
        let less = MemberReference(id: own.id, role: .observer)
        try chat.receive(.group(.linkAcceptance(.accepted, less)), 4)
        #expect(chat.group.own.role == .member)
        var raised = try GroupFixture(isWaiting: true)
        let more = MemberReference(id: own.id, role: .owner)
        try raised.receive(.group(.linkAcceptance(.accepted, more)), 1)
        #expect(raised.group.membership == .waiting && raised.group.own.role == .member)
        var refused = try GroupFixture(isWaiting: true)
        try refused.receive(.group(.linkRejection(reason: "x")), 1)
        #expect(refused.records.ends == [.refusedByGroup])
    }

    @Test("both kinds of invitations create a group")
    func invitations() throws {
        let events = try Sample.groupEvents()
        guard case .invitation(let invitation) = events[0], case .linkInvitation(let link) = events[2] else {
            Issue.record("the samples are others")
            return
        }
        #expect(GroupConversation(invitation).membership == .joined)
        #expect(GroupConversation(invitation).host == invitation.host.id)
        #expect(GroupConversation(link).membership == .waiting)
    }
}
