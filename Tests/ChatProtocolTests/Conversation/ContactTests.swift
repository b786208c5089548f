import Base
import Testing

@testable import ChatProtocol

@Suite("Direct chat")
struct ContactTests {
    static let file = NewMessage(ChatContent(.file), file: FileInvitation(name: "a.txt", size: 5))
    static let hello = NewMessage(ChatContent(.text, text: "hello"))

    @Test("repeated message is received once")
    func once() throws {
        var chat = ContactFixture()
        for _ in 0..<3 { try chat.receive(.message(Self.hello), 1) }
        #expect(chat.records.shown.count == 1)
        #expect(chat.records.receipts == 1)
    }

    @Test("message without id or sense is ignored")
    func withoutID() throws {
        var chat = ContactFixture()
        chat.receive(ChatMessage(.message(Self.hello), id: nil))
        #expect(chat.conversation.receive(.unreadable, at: Sample.time, from: chat.records).isEmpty)
        #expect(chat.records.shown.isEmpty)
    }

    @Test("file is described later in parts")
    func described() throws {
        var chat = ContactFixture()
        try chat.receive(.message(Self.file), 1)
        let parts = DescriptionPart.parts(of: "abcdef", limit: 2)
        let key = MessageKey(try Sample.id(1), by: .contact)
        for (number, part) in parts.enumerated() {
            #expect(chat.records.items[key]?.description == nil)
            try chat.receive(.description(of: try Sample.id(1), part), UInt8(10 + number))
        }
        #expect(chat.records.items[key]?.description == "abcdef")
    }

    @Test("early description waits for its message")
    func before() throws {
        for count in 1...3 {
            var chat = ContactFixture()
            let parts = DescriptionPart.parts(of: "abcdef", limit: 2)
            for (number, part) in parts.enumerated() where number < count {
                try chat.receive(.description(of: try Sample.id(1), part), UInt8(10 + number))
            }
            try chat.receive(.message(Self.file), 1)
            for (number, part) in parts.enumerated() where number >= count {
                try chat.receive(.description(of: try Sample.id(1), part), UInt8(10 + number))
            }
            let key = MessageKey(try Sample.id(1), by: .contact)
            #expect(chat.records.items[key]?.description == "abcdef")
        }
    }

    @Test("first description part may be in the message")
    func along() throws {
        var chat = ContactFixture()
        var message = Self.file
        message.file?.way = .described(DescriptionPart(text: "whole", number: 1, isLast: true))
        try chat.receive(.message(message), 1)
        #expect(chat.records.items.values.first?.description == "whole")
    }

    @Test("descriptions of missing messages are bounded")
    func orphans() throws {
        var chat = ContactFixture()
        for number in 0..<200 {
            let id = try #require(SharedMessageID(bytes: [1, UInt8(number)]))
            let part = DescriptionPart(text: "x", number: 1, isLast: false)
            try chat.receive(.description(of: id, part), UInt8(number))
        }
        #expect(chat.records.partial.count == 64)
    }

    @Test("update without its message is kept until completed")
    func changed() throws {
        var chat = ContactFixture()
        let update = MessageUpdate(try Sample.id(1), content: ChatContent(.file, text: "caption"))
        try chat.receive(.update(update), 2)
        let key = MessageKey(try Sample.id(1), by: .contact)
        #expect(chat.records.items[key]?.content.text == "caption")
        try chat.receive(.message(Self.file), 1)
        #expect(chat.records.items[key]?.content.text == "caption")
        #expect(chat.records.items[key]?.file == Self.file.file)
        try chat.receive(
            .update(MessageUpdate(try Sample.id(1), content: ChatContent(.file, text: "new"))), 3)
        #expect(chat.records.items[key]?.content.text == "new")
    }

    @Test("deleted message does not return")
    func deleted() throws {
        var chat = ContactFixture()
        try chat.receive(.message(Self.file), 1)
        try chat.receive(.deletion(try Sample.id(1), author: nil), 2)
        try chat.receive(.description(of: try Sample.id(1), .init(text: "x", number: 1, isLast: true)), 3)
        try chat.receive(.update(MessageUpdate(try Sample.id(1), content: ChatContent(.text))), 4)
        try chat.receive(.deletion(try Sample.id(5), author: nil), 6)
        try chat.receive(.message(Self.file), 5)
        #expect(chat.records.shown.isEmpty && chat.records.partial.isEmpty)
    }

    @Test("deletion is ignored after 78 hours")
    func late() throws {
        var chat = ContactFixture()
        try chat.receive(.message(Self.hello), 1)
        let late = Sample.time.advanced(by: .seconds(78 * 3600 + 1))
        try chat.receive(.deletion(try Sample.id(1), author: nil), 2, at: late)
        #expect(chat.records.shown.count == 1)
        try chat.receive(
            .deletion(try Sample.id(1), author: nil), 3, at: Sample.time.advanced(by: .seconds(78 * 3600)))
        #expect(chat.records.shown.isEmpty)
    }

    @Test("contact cannot change this profile's messages")
    func ownMessages() throws {
        var chat = ContactFixture()
        let key = MessageKey(try Sample.id(1), by: .own)
        chat.records.items[key] = .init(
            record: .init(time: Sample.time, hasFile: true), content: ChatContent(.file))
        let before = chat.records.items[key]
        try chat.receive(.deletion(try Sample.id(1), author: nil), 2)
        try chat.receive(.update(MessageUpdate(try Sample.id(1), content: ChatContent(.text, text: "ha"))), 3)
        try chat.receive(.fileCancelled(try Sample.id(1)), 4)
        #expect(chat.records.items[key] == before)
        try chat.receive(.reaction(.init(to: try Sample.id(1), emoji: "👍", isAdded: true)), 5)
        #expect(chat.records.items[key]?.reactions == ["👍"])
    }

    @Test("file cancellation is applied")
    func cancelled() throws {
        var chat = ContactFixture()
        try chat.receive(.message(Self.file), 1)
        try chat.receive(.message(Self.hello), 2)
        try chat.receive(.fileCancelled(try Sample.id(1)), 3)
        try chat.receive(.fileCancelled(try Sample.id(2)), 4)
        try chat.receive(.fileCancelled(try Sample.id(9)), 5)
        #expect(chat.records.items.values.filter(\.isCancelled).map(\.file) == [Self.file.file])
    }

    @Test("new profile and versions are applied once")
    func profile() throws {
        var chat = ContactFixture()
        let profile = ContactProfile(displayName: "Robert")
        try chat.receive(.information(profile), 1)
        try chat.receive(.information(profile), 2)
        #expect(chat.records.profiles == [profile] && chat.conversation.profile == profile)
        chat.receive(ChatMessage(.unknown(name: "x.info.probe"), id: nil, versions: 1...18))
        chat.receive(ChatMessage(.unknown(name: "x.info.probe"), id: nil, versions: nil))
        #expect(chat.conversation.versions == 1...18)
    }

    @Test("ended chat ignores further messages")
    func ended() throws {
        var chat = ContactFixture()
        try chat.receive(.message(Self.hello), 1)
        try chat.receive(.contactDeleted, 2)
        try chat.receive(.message(Self.file), 3)
        try chat.receive(.contactDeleted, 4)
        #expect(chat.records.ends == [.contactDeletedIt] && chat.conversation.hasEnded)
        #expect(chat.records.shown.count == 1 && chat.records.receipts == 1)
    }

    @Test("group invitation and file request are reported")
    func others() throws {
        var chat = ContactFixture()
        guard case .invitation(let invitation) = try Sample.groupEvents()[0] else {
            Issue.record("the first sample is an invitation")
            return
        }
        try chat.receive(.group(.invitation(invitation)), 1)
        try chat.receive(.fileAccepted(try Sample.id(9), name: "x"), 2)
        #expect(chat.records.invitations == [invitation] && chat.records.receipts == 1)
        #expect(chat.records.accepted == [try Sample.id(9)])
    }

    @Test("group events have no effect here")
    func misplaced() throws {
        var chat = ContactFixture()
        let invitations = try Sample.groupEvents().filter { if case .invitation = $0 { false } else { true } }
        for (number, event) in invitations.enumerated() {
            try chat.receive(.group(event), UInt8(100 + number))
        }
        #expect(chat.records.items.isEmpty && chat.records.members.isEmpty && chat.records.ends.isEmpty)
    }
}
