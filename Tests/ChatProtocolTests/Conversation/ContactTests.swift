import Base
import Testing

@testable import ChatProtocol

@Suite("A chat with one person")
struct ContactTests {
    static let file = NewMessage(ChatContent(.file), file: FileInvitation(name: "a.txt", size: 5))
    static let hello = NewMessage(ChatContent(.text, text: "hello"))

    @Test("a message is shown once, however often it comes, and a receipt is due for it once")
    func once() throws {
        var chat = ContactFixture()
        for _ in 0..<3 { try chat.receive(.message(Self.hello), 1) }
        #expect(chat.records.shown.count == 1)
        #expect(chat.records.receipts == 1)
    }

    @Test("a message without an id, or nothing that makes sense, is not shown")
    func withoutID() throws {
        var chat = ContactFixture()
        chat.receive(ChatMessage(.message(Self.hello), id: nil))
        #expect(chat.conversation.receive(.unreadable, at: Sample.time, from: chat.records).isEmpty)
        #expect(chat.records.shown.isEmpty)
    }

    @Test("a file is offered first and described later, in parts")
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

    @Test("a description that comes before its message waits for it, whole or in part")
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

    @Test("the first part of a description may come with the message")
    func along() throws {
        var chat = ContactFixture()
        var message = Self.file
        message.file?.way = .described(DescriptionPart(text: "whole", number: 1, isLast: true))
        try chat.receive(.message(message), 1)
        #expect(chat.records.items.values.first?.description == "whole")
    }

    @Test("descriptions of messages that never come do not fill the disk")
    func orphans() throws {
        var chat = ContactFixture()
        for number in 0..<200 {
            let id = try #require(SharedMessageID(bytes: [1, UInt8(number)]))
            let part = DescriptionPart(text: "x", number: 1, isLast: false)
            try chat.receive(.description(of: id, part), UInt8(number))
        }
        #expect(chat.records.partial.count == 64)
    }

    @Test("a message is changed; a change of one that is not here is all of it, until it comes with its file")
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

    @Test("a message that its author deletes goes, and does not come back")
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

    @Test("what is older than 78 hours is not deleted any more")
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

    @Test("nobody deletes or changes what this profile wrote")
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

    @Test("a file is taken back")
    func cancelled() throws {
        var chat = ContactFixture()
        try chat.receive(.message(Self.file), 1)
        try chat.receive(.message(Self.hello), 2)
        try chat.receive(.fileCancelled(try Sample.id(1)), 3)
        try chat.receive(.fileCancelled(try Sample.id(2)), 4)
        try chat.receive(.fileCancelled(try Sample.id(9)), 5)
        #expect(chat.records.items.values.filter(\.isCancelled).map(\.file) == [Self.file.file])
    }

    @Test("a new name is told once; the versions are those of the last message that says them")
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

    @Test("after the contact has deleted the chat nothing comes into it")
    func ended() throws {
        var chat = ContactFixture()
        try chat.receive(.message(Self.hello), 1)
        try chat.receive(.contactDeleted, 2)
        try chat.receive(.message(Self.file), 3)
        try chat.receive(.contactDeleted, 4)
        #expect(chat.records.ends == [.contactDeletedIt] && chat.conversation.hasEnded)
        #expect(chat.records.shown.count == 1 && chat.records.receipts == 1)
    }

    @Test("an invitation into a group, and a wish for a file that was offered, are passed on")
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

    @Test("what is only said in groups does nothing in a chat of two")
    func misplaced() throws {
        var chat = ContactFixture()
        let invitations = try Sample.groupEvents().filter { if case .invitation = $0 { false } else { true } }
        for (number, event) in invitations.enumerated() {
            try chat.receive(.group(event), UInt8(100 + number))
        }
        #expect(chat.records.items.isEmpty && chat.records.members.isEmpty && chat.records.ends.isEmpty)
    }
}
