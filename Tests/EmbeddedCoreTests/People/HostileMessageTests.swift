import Agent
import Base
import ChatCore
import ChatProtocol
import JSON
import SMP
import TestSupport
import Testing

@testable import EmbeddedCore

/// Alice's profile with one contact, bob, and an agent controlled by the test.
struct ToldStage {
    let world: World
    let core: EmbeddedCore
    let agent: ToldAgent
    let chat: Int64
    private let numbers = Lock(Int64(1_000_000))

    init() async throws {
        world = try World(["alice"])
        agent = ToldAgent(isEarly: false) { _ in nil }
        let first = try await world.open("alice")
        let now = world.clock.now()
        chat = try first.store.commit { change in
            try change.tables.people.insert(ConnectionID(1))
            let chat = try change.tables.chats.insertContact("bob", of: first.profile.id, at: now)
            try change.tables.people.keep(
                ContactConversation(profile: ContactProfile(displayName: "bob"), versions: 1...16),
                of: ConnectionID(1), chat: chat)
            return chat
        }
        await first.shutDown()
        core = try await world.open("alice", over: agent.making)
    }

    /// Delivers an event of bob's connection and waits until it is processed.
    func tell(_ content: AgentEvent.Content) async throws {
        let number = numbers.withLock { number in
            number += 1
            return number
        }
        agent.tell(content, of: ConnectionID(1), number: number)
        try await wait(until: "it was taken in") { agent.isTaken(number) }
    }

    /// Delivers a message from bob.
    /// - Parameter time: time claimed by his server; nil for now.
    func say(_ event: MessageEvent, as id: SharedMessageID? = nil, at time: Timestamp? = nil) async throws {
        let message = ChatMessage(event, id: id ?? SharedMessageID(from: SystemRandomSource()))
        let body = Array(message.json.utf8)
        try await tell(
            .received(
                ReceivedMessage(body: body, received: time ?? world.clock.now(), integrity: .complete)))
    }

    func say(_ text: String) async throws {
        try await say(.message(NewMessage(ChatContent(.text, text: text))))
    }

    var lines: [Line] { get async throws { try await Line.all(core.log(of: "bob")) } }
}

@Suite("Hostile messages")
struct HostileMessageTests {
    /// 1001 characters, 65,001 bytes; escaped it exceeds a message.
    static let name =
        "a" + String(repeating: "\u{301}", count: 32_000) + String(repeating: "\u{7F}", count: 1000)

    @Test("name that grows when re-encoded is harmless")
    func longName() async throws {
        let stage = try await InlineStage()
        let json = #"""
            {"v":"1-16","msgId":"AAAA","event":"x.msg.new","params":{
            "content":{"type":"image","text":"","image":"data:image/png;base64,AA=="},
            "file":{"fileName":"\#(Self.name)","fileSize":1000,"fileInline":"offer"}}}
            """#
        try await stage.eve.say(json: json)
        _ = try await stage.eve.offer([1], named: "next")
        try await stage.item("next") { $0 == .rcvInvitation(described: true) }
        let items = try await stage.alice.core.items(of: stage.chat, before: nil, count: 9)
        #expect(items.count == 2 && items.allSatisfy { $0.file?.name.utf8.count ?? 0 <= 1024 })
        try await stage.end()
    }

    @Test(
        "claimed time does not affect a file's retention",
        arguments: [Timestamp(nanoseconds: .min), Timestamp(seconds: 0), Timestamp(nanoseconds: .max)])
    func times(time: Timestamp) async throws {
        let stage = try await ToldStage()
        let file = FileInvitation(name: "a.pdf", size: 10)
        try await stage.say(.message(NewMessage(ChatContent(.file), file: file)), at: time)
        let item = try #require(try await stage.items.first)
        #expect(item.time == time)
        let now = stage.world.clock.now()
        let likely = now.advanced(by: .seconds(-22 * 86_400))...now.advanced(by: .seconds(3600))
        let offer = try stage.core.store.read { try $0.downloads.existingOffer(#require(item.file).id) }
        #expect(likely.contains(offer.created))
        #expect(item.file?.expires == offer.created.advanced(by: FilePolicy.relayRetention))
        #expect(try await stage.core.chats().allSatisfy { $0.updatedAt <= likely.upperBound })
        await stage.core.shutDown()
    }

    @Test("oversized file is rejected")
    func largestSize() async throws {
        let stage = try await ToldStage()
        let ways: [FileInvitation.Way] = [.described(.awaited), .offeredInline, .sentInline, .unsupported]
        for way in ways {
            let file = FileInvitation(name: "a", size: UInt64(Int64.max), way: way)
            try await stage.say(.message(NewMessage(ChatContent(.image(preview: "")), file: file)))
        }
        let items = try await stage.core.items(of: stage.core.chat(named: "bob"), before: nil, count: 9)
        #expect(items.count == ways.count && items.allSatisfy { $0.file?.size == FilePolicy.standaloneLimit })
        #expect(items.allSatisfy { $0.file?.status.failure != nil })
        #expect(items.last?.file?.status == .rcvError(.tooLargeToReceive))
        // One within the limit is an offer.
        let file = FileInvitation(name: "b", size: FilePolicy.standaloneLimit)
        try await stage.say(.message(NewMessage(ChatContent(.file), file: file)))
        #expect(try await stage.core.newest(in: "bob").file?.status == .rcvInvitation(described: false))
        await stage.core.shutDown()
    }

    @Test("disabled receipts prevent automatic requests")
    func silentArrival() async throws {
        let stage = try await ToldStage()
        try stage.world.database().transaction { try $0.execute("UPDATE profile SET sends_receipts = 0") }
        let file = FileInvitation(name: "a.jpg", size: 1000, way: .offeredInline)
        try await stage.say(.message(NewMessage(ChatContent(.image(preview: "")), file: file)))
        #expect(try stage.core.store.read { try $0.outgoing.first() == nil } && stage.agent.sent == 0)
        let offer = try #require(try await stage.core.newest(in: "bob").file)
        #expect(offer.status == .rcvInvitation(described: true))
        try await stage.core.receiveFile(offer.id, approvedRelays: false)
        try await wait(until: "a reader has it asked for") { stage.agent.sent == 1 }
        await stage.core.shutDown()
    }

    @Test("unstorable event is skipped")
    func neverStored() async throws {
        let stage = try await ToldStage()
        try stage.world.database().transaction {
            try $0.executeScript(
                """
                CREATE TRIGGER poison BEFORE INSERT ON message_line WHEN instr(NEW.line, CAST('poison' AS BLOB))
                BEGIN SELECT RAISE(ABORT, 'poison'); END
                """)
        }
        try await stage.say("poison")
        try await stage.say("next")
        #expect(try await stage.lines.map(\.text) == ["next"])
        await stage.core.shutDown()
    }

    @Test("profile may be as long as a message")
    func longProfile() async throws {
        let stage = try await ToldStage()
        let profile = ContactProfile(
            displayName: "bob", shortDescription: String(repeating: "\u{7F}", count: 11_000))
        try stage.core.store.commit { change in
            try change.tables.people.keep(
                ContactConversation(profile: profile, versions: nil), of: ConnectionID(1), chat: stage.chat)
        }
        try await stage.say("next")
        try stage.world.database().transaction {
            try $0.execute("UPDATE connection SET introduction = x'7b'")
        }
        try await stage.say("last")
        #expect(try await stage.lines.map(\.text) == ["next", "last"])
        await stage.core.shutDown()
    }

    @Test("refused contact can still write")
    func takesNothing() async throws {
        let stage = try await ToldStage()
        try await stage.tell(.conditionChanged(ConnectionCondition(phase: .connected, isGone: true)))
        let chat = try await stage.core.chat(named: "bob")
        #expect(
            await refusal { try await stage.core.send(ComposedText(id: "1", text: "a"), to: chat) }?.code
                == .sendingRefused)
        try await stage.say("still here")
        try await stage.say(
            .message(NewMessage(ChatContent(.file), file: FileInvitation(name: "a.txt", size: 7))))
        #expect(try await stage.lines.map(\.text) == ["still here", ""])
        #expect(try await stage.core.newest(in: "bob").file?.name == "a.txt")
        // The contact has another queue now.
        try await stage.tell(.conditionChanged(ConnectionCondition(phase: .connected)))
        try await stage.core.send(ComposedText(id: "2", text: "b"), to: chat)
        // A chat ended by the contact stays ended.
        try await stage.say(.contactDeleted)
        try await stage.tell(.conditionChanged(ConnectionCondition(phase: .connected)))
        try await stage.say("too late")
        #expect(try await stage.lines.compactMap(\.text) == ["still here", "", "b"])
        #expect(
            await refusal { try await stage.core.send(ComposedText(id: "3", text: "c"), to: chat) }?.code
                == .sendingRefused)
        await stage.core.shutDown()
    }
}
