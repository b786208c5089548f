import Base
import ChatCore
import ChatProtocol
import JSON
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Chat logs")
struct MessageLogTests {
    @Test("messages, edits and deletions get their own lines")
    func written() async throws {
        let (alice, bob) = try await Internet().pair()
        let (first, second) = (try SharedMessageID.fresh(), try SharedMessageID.fresh())
        let quote = Quote(
            id: first, sentAt: Timestamp(seconds: 1_700_000_000), isOwn: true,
            content: ChatContent(.text, text: "one\n\"two\""))
        try await alice.say(.message(NewMessage(ChatContent(.text, text: "one\n\"two\""))), first)
        try await alice.say(
            .message(NewMessage(ChatContent(.text, text: "ü\u{2028}\u{0}"), quote: quote, isForwarded: true)),
            second)
        try await alice.say(.update(MessageUpdate(first, content: ChatContent(.text, text: "three"))))
        try await alice.say(.deletion(second, author: nil))
        // Deletion of an unknown message adds no line.
        try await alice.say(.deletion(try .fresh(), author: nil))
        try await alice.say(.message(NewMessage(ChatContent(.text, text: "end"))))
        let lines = try await bob.lines(of: "alice", count: 5)
        #expect(lines.map(\.event) == ["message", "message", "edit", "deletion", "message"])
        #expect(lines.map(\.text) == ["one\n\"two\"", "ü\u{2028}\u{0}", "three", nil, "end"])
        #expect(lines.map(\.id).prefix(4) == [first.text, second.text, first.text, second.text])
        #expect(lines.allSatisfy { $0.direction == "received" && $0.sender == "alice" })
        #expect(lines[1].quoted == "one\n\"two\"" && lines[1].isForwarded)
        try await alice.core.shutDown()
        // The next process has the same log.
        try await bob.reopen()
        #expect(try await bob.lines(of: "alice", count: 5).map(\.id) == lines.map(\.id))
        try await bob.core.shutDown()
    }

    @Test("file lines carry the item's number")
    func files() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let sent = try await alice.core.send(alice.core.compose(pattern(10), name: "a.pdf"), to: chat)
        let there = try await bob.core.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        try await alice.core.deleteItems([sent.id], in: chat, mode: .broadcast)
        // Whether it is delivered before its deletion depends on timing.
        let own = try await wait(for: "the deletion") {
            let lines = try await alice.lines(of: "bob", count: 2).filter { $0.event != "state" }
            return lines.count == 2 ? lines : nil
        }
        let others = try await bob.lines(of: "alice", count: 2)
        #expect(own.map(\.event) == ["message", "deletion"] && others.map(\.event) == own.map(\.event))
        #expect(own.map(\.id) == others.map(\.id))
        #expect(own[0].item == sent.id.rawValue && others[0].item == there.id.rawValue)
        #expect(own[0].fileName == "a.pdf" && own[0].size == 10 && own[0].text == "caption")
        #expect(own[0].direction == "sent" && others[0].direction == "received")
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("local profiles have equal lines")
    func sameDirectory() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let (alice, bob) = (try await world.open("alice"), try await world.open("bob"))
        let (own, others) = (Listener(alice), Listener(bob))
        _ = try await alice.send(alice.compose([1], name: "a"), to: alice.chat(named: "bob"))
        try await others.waits(for: "messageLogGrew")
        try await own.waits(for: "messageLogGrew")
        let size = others.events.withLock { events in
            events.compactMap { if case .messageLogGrew(_, let log) = $0 { log.size } else { nil } }.last
        }
        let log = try await bob.log(of: "alice")
        #expect(size == UInt64(log.count))
        #expect(try await bob.messageLogs().values.map(\.size) == [UInt64(log.count)])
        #expect(try Line.all(log).map(\.id) == Line.all(await alice.log(of: "bob")).map(\.id))
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test("any part equals the whole log's bytes")
    func parts() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        for number in 0..<12 {
            _ = try await alice.send(
                alice.compose([1], name: String(repeating: "n", count: number * 7 + 1)), to: chat)
        }
        let whole = try await alice.log(of: "bob")
        #expect(try Line.all(whole).count == 12)
        for offset in stride(from: 0, through: whole.count + 40, by: 37) {
            for count in [0, 1, 100, 1000, whole.count, Int.max] {
                let part = try await alice.messageLog(of: chat, from: UInt64(offset), count: count)
                #expect(part == Array(whole.dropFirst(offset).prefix(count)))
            }
        }
        #expect(try await alice.messageLog(of: chat, from: .max, count: 10) == [])
        await alice.shutDown()
    }

    @Test("expired message is blanked in place")
    func disappeared() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        try world.directory.setTimeToLive(
            .seconds(60), in: chat, of: world.directory.profile(named: "alice"))
        _ = try await alice.send(alice.compose([1], name: "secret.txt"), to: chat)
        try world.directory.setTimeToLive(nil, in: chat, of: world.directory.profile(named: "alice"))
        _ = try await alice.send(alice.compose([1], name: "stays.txt"), to: chat)
        let before = try await alice.log(of: "bob")
        world.clock.advance(by: .seconds(61))
        await alice.disappearing.look()
        let after = try await alice.log(of: "bob")
        #expect(after.count == before.count)
        #expect(!String(decoding: after, as: UTF8.self).contains("secret"))
        let lines = try Line.all(after)
        #expect(lines.map(\.event) == ["disappeared", "message"] && lines[1].fileName == "stays.txt")
        await alice.shutDown()
    }

    @Test("deleting a chat deletes its log")
    func deletedChat() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        _ = try await alice.send(alice.compose([1]), to: chat)
        try await alice.deleteChat(chat)
        #expect(try await alice.messageLogs().isEmpty)
        let refused = await refusal { try await alice.messageLog(of: chat, from: 0, count: 1) }
        #expect(refused?.code == .noSuchChat)
        #expect(
            try alice.store.read { try $0.messageLog.bytes(of: 3, from: 0, count: 100) }.isEmpty)
        await alice.shutDown()
    }
}

/// A log line, decoded.
struct Line {
    var event: String
    var id: String
    var direction: String?
    var sender: String?
    var text: String?
    var quoted: String?
    var isForwarded: Bool
    var fileName: String?
    var size: Int64?
    var item: Int64?
    var state: String?
    var error: String?
    var timeToLive: Int64?

    init(_ bytes: ArraySlice<UInt8>) throws {
        let json = try #require(JSONValue.parse(Array(bytes)))
        event = try #require(json["event"]?.string)
        id = try #require(json["id"]?.string)
        direction = json["direction"]?.string
        sender = json["sender"]?.string
        text = json["text"]?.string
        quoted = json["quote"]?["text"]?.string
        isForwarded = json["forwarded"]?.bool ?? false
        fileName = json["file"]?["name"]?.string
        size = json["file"]?["size"]?.integer
        item = json["file"]?["item"]?.integer
        state = json["state"]?.string
        error = json["error"]?.string
        timeToLive = json["ttl"]?.integer
    }

    static func all(_ log: [UInt8]) throws -> [Line] {
        #expect(log.isEmpty || log.last == UInt8(ascii: "\n"))
        return try log.split(separator: UInt8(ascii: "\n")).map(Line.init)
    }
}

extension SharedMessageID {
    static func fresh() throws -> SharedMessageID { SharedMessageID(from: SystemRandomSource()) }
}

extension EmbeddedCore {
    func log(of chat: String) async throws -> [UInt8] {
        try await messageLog(of: self.chat(named: chat), from: 0, count: 1 << 30)
    }
}

extension Machine {
    /// Sends an arbitrary event to the only contact.
    func say(_ event: MessageEvent, _ id: SharedMessageID? = nil) async throws {
        let id = try id ?? .fresh()
        try core.store.commit { change in
            let connection = try #require(try change.tables.people.open().first)
            try change.send(OutgoingMessage(ChatMessage(event, id: id), to: connection))
        }
    }

    /// Returns a chat's log once it has `count` lines.
    func lines(of chat: String, count: Int) async throws -> [Line] {
        try await wait(for: "\(count) lines at \(name)'s") {
            let lines = try await Line.all(core.log(of: chat))
            return lines.count >= count ? lines : nil
        }
    }
}
