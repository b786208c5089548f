import Base
import ChatCore
import JSON
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

@Suite("The texts of a phone's chats")
struct PhoneTextTests {
    private static func text(_ id: Int64, _ text: String) -> ScriptedMessage {
        var message = ScriptedMessage(id: id, contact: 1, name: "")
        (message.type, message.text) = ("text", text)
        return message
    }

    /// Event and text of each line of the log.
    /// - Parameter piece: The bytes of one read. Between two of them a line may be blanked.
    private func lines(_ core: OfficialCore, inPiecesOf piece: Int = 1 << 20) async throws -> [String] {
        guard let log = try await core.messageLogs()[.direct(1)] else { return [] }
        var bytes: [UInt8] = []
        while UInt64(bytes.count) < log.size {
            let more = try await core.messageLog(of: .direct(1), from: UInt64(bytes.count), count: piece)
            try #require(!more.isEmpty)
            bytes += more
        }
        return try bytes.split(separator: UInt8(ascii: "\n")).map { line in
            let json = try #require(JSONValue.parse(Array(line)))
            return [json["event"]?.string, json["text"]?.string, json["file"]?["name"]?.string]
                .compactMap(\.self).joined(separator: " ")
        }
    }

    @Test func logsHaveAllMessagesInOrder() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            // More than a page, which begins at the end.
            for id in 1...120 { state.history.append(Self.text(Int64(id), "number \(id)")) }
            state.history.append(ScriptedMessage(id: 121, contact: 1, name: "a.bin"))
        }
        let core = try await desk.connected(phone)
        let history = (1...120).map { "message number \($0)" } + ["message  a.bin"]
        // Pieces that end within lines.
        #expect(try await lines(core, inPiecesOf: 50) == history)
        let size = try await core.messageLogs()[.direct(1)]?.size ?? 0
        for offset in [size, size + 1, size + 5000, UInt64(Int64.max), .max] {
            #expect(try await core.messageLog(of: .direct(1), from: offset, count: 50) == [])
        }
        phone.core.tellNew(Self.text(122, "new"))
        try await core.send(ComposedText(id: "one", text: "mine"), to: .direct(1))
        try await wait(until: "both are there") { try await lines(core).count == 123 }
        #expect(Set(try await lines(core).suffix(2)) == ["message new", "message mine"])
        await core.shutDown()
        // No phone is connected.
        let away = try await desk.open().value
        #expect(try await lines(away).count == 123)
        await away.shutDown()
    }

    @Test func missedMessagesOfSeveralPagesAreInOrder() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        func add(_ ids: ClosedRange<Int>) {
            phone.core.change { state in
                for id in ids { state.history.append(Self.text(Int64(id), "number \(id)")) }
            }
        }
        add(1...3)
        await (try await desk.connected(phone)).shutDown()
        // Events tell nothing of them.
        add(4...180)
        let core = try await desk.open().value
        try phone.connect(to: try await desk.link())
        try await wait(until: "all are there") { try await lines(core).count == 180 }
        #expect(try await lines(core) == (1...180).map { "message number \($0)" })
        await core.shutDown()
    }

    @Test func changesOfMessagesReachTheLog() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        var passing = Self.text(4, "passing")
        passing.disappears = true
        phone.core.change { state in
            for (id, text) in [(1, "first"), (2, "second"), (3, "third")] {
                state.history.append(Self.text(Int64(id), text))
            }
            state.history.append(passing)
        }
        let core = try await desk.connected(phone)
        #expect(try await lines(core) == ["message first", "message second", "message third"])
        let size = try await core.messageLogs()[.direct(1)]?.size
        phone.core.tellGone(2)
        try await wait(until: "it is gone") { try await !lines(core).contains("message second") }
        #expect(try await lines(core) == ["message first", "disappeared", "message third"])
        #expect(try await core.messageLogs()[.direct(1)]?.size == size)
        phone.core.tell("chatItemUpdated", Self.text(3, "third, edited"))
        phone.core.tell("chatItemUpdated", Self.text(3, "third, edited"))
        phone.core.tellNew(Self.text(5, "last"))
        try await wait(until: "the last is there") { try await lines(core).last == "message last" }
        #expect(
            try await lines(core)
                == ["message first", "disappeared", "message third", "edit third, edited", "message last"])
        await core.shutDown()
    }

    @Test func messageThatReturnsIsANewLine() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            for id in 1...2 { state.history.append(Self.text(Int64(id), "number \(id)")) }
        }
        let core = try await desk.connected(phone)
        phone.core.tellGone(1)
        try await wait(until: "it is gone") { try await lines(core).first == "disappeared" }
        phone.core.tellNew(Self.text(1, "number 1"))
        try await wait(until: "it is back") { try await lines(core).count == 3 }
        // Blank lines are never looked for.
        try core.index.write { try $0.walks.repeatAll() }
        phone.leave()
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is connected") { try await core.hasReadHistory() }
        #expect(try await lines(core) == ["disappeared", "message number 2", "message number 1"])
        await core.shutDown()
    }

    @Test func blankedLogIsNewerAfterTheClockWasSetBack() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { $0.history.append(Self.text(1, "first")) }
        let core = try await desk.connected(phone)
        let before = try #require(try await core.messageLogs()[.direct(1)])
        _ = try core.index.write { try $0.texts.blank(ItemID(1), at: Timestamp(seconds: 0)) }
        let after = try #require(try await core.messageLogs()[.direct(1)])
        #expect(after.modified > before.modified && after.size == before.size)
        await core.shutDown()
    }

    @Test func messageStaysInItsChat() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            state.contacts[8] = "carol"
            state.history.append(Self.text(1, "first"))
        }
        let core = try await desk.connected(phone)
        var moved = Self.text(1, "other")
        moved.chat = "@8"
        phone.core.tell("chatItemUpdated", moved)
        phone.core.tellNew(Self.text(2, "last"))
        try await wait(until: "the last is there") { try await lines(core).last == "message last" }
        #expect(try await lines(core) == ["message first", "message last"])
        #expect(try await core.messageLogs()[.direct(8)] == nil)
        await core.shutDown()
    }

    @Test func messageThatLosesItsFileStaysInTheLog() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { $0.history.append(ScriptedMessage(id: 1, contact: 1, name: "a.bin")) }
        let core = try await desk.connected(phone)
        phone.core.tell("chatItemUpdated", Self.text(1, "only text"))
        try await wait(until: "its file is gone") { try await core.itemCount() == 0 }
        #expect(try await lines(core) == ["message  a.bin", "edit only text"])
        await core.shutDown()
    }

    @Test func messagesDeletedMeanwhileLeaveTheLog() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            for id in 1...3 { state.history.append(Self.text(Int64(id), "number \(id)")) }
        }
        let core = try await desk.connected(phone)
        #expect(try await lines(core).count == 3)
        phone.core.change { _ = $0.history.remove(2) }
        // The weekly review.
        try core.index.write { try $0.walks.repeatAll() }
        phone.leave()
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is gone") { try await lines(core)[1] == "disappeared" }
        #expect(try await lines(core) == ["message number 1", "disappeared", "message number 3"])
        try core.index.commit { try $0.removeChat(.direct(1)) }
        #expect(try await core.messageLogs().isEmpty)
        await core.shutDown()
    }
}
