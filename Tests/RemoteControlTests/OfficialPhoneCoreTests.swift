import Base
import ChatCore
import Cryptography
import Glibc
import JSON
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite(
    "The official program as the phone of a mount",
    .enabled(if: !OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with simplex-chat"))
struct OfficialPhoneCoreTests {
    @Test func notesAreStoredReadAndFoundAgain() async throws {
        let (desk, phone) = (try PhoneDesk(), try await OfficialPhone())
        let opening = try desk.open(away: .seconds(60))
        try await phone.confirm(desk)
        let core = try await opening.value
        #expect(core.profile.displayName == "bob")
        let notes = try #require(
            try await core.chats().first { if case .notes = $0.reference { true } else { false } })
        let content = SystemRandomSource().bytes(700_001)
        let message = try desk.compose("a b.bin", content, id: "one", for: core)
        let item = try await core.send(message, to: notes.reference)
        let file = try #require(item.file)
        #expect(file.name == "a b.bin" && file.size == UInt64(content.count))
        #expect(try PhoneDesk.content(try await core.location(of: file.id)) == content)
        await core.shutDown()
        try await phone.waitUntilFree()
        // Away, then back.
        let again = try await desk.open().value
        #expect(try await again.items(of: notes.reference, before: nil, count: 10).map(\.id) == [item.id])
        try await phone.confirm(desk)
        try await wait(until: "the history is read") { try await again.hasReadHistory() }
        #expect(try await again.send(message, to: notes.reference).id == item.id)
        #expect(try await again.items(of: notes.reference, before: nil, count: 10).count == 1)
        await again.shutDown()
    }

    @Test func fullQueueOfThePhoneIsDrainedDuringOtherWork() async throws {
        let relays = try await OfficialRelays()
        let (phone, other) = (
            // The program waits when its queue has so many events.
            try await OfficialPhone(options: relays.arguments + ["-q", "5"]),
            try await OfficialPhone("carol", options: relays.arguments)
        )
        try await phone.meet(other)
        let desk = try PhoneDesk()
        let opening = try desk.open(away: .seconds(60))
        try await phone.confirm(desk)
        let core = try await opening.value
        try await wait(until: "the history is read") { try await core.hasReadHistory() }
        let (isHeld, mayGo) = (Lock(false), Lock(false))
        defer { mayGo.withLock { $0 = true } }
        Thread.start("hold-index") {
            _ = try? core.index.write { _ in
                isHeld.withLock { $0 = true }
                while !mayGo.withLock({ $0 }) { usleep(1000) }
            }
        }
        try await wait(until: "the index is held") { isHeld.withLock { $0 } }
        let numbers = Array(1...60)
        for number in numbers { try await other.command("@bob number \(number)") }
        try await wait(until: "the phone has all") {
            try await phone.command("/_get chats 1 count=50").contains("number 60")
        }
        mayGo.withLock { $0 = true }
        let chat = try #require(
            try await core.chats().first { $0.displayName == "carol" }?.reference)
        var told: [String] = []
        try await wait(until: "all are in the log") {
            let log = try await core.messageLog(of: chat, from: 0, count: 1 << 20)
            told = log.split(separator: UInt8(ascii: "\n")).compactMap { line in
                JSONValue.parse(Array(line))?["text"]?.string
            }.filter { $0.hasPrefix("number ") }
            return told.count >= numbers.count
        }
        #expect(told == numbers.map { "number \($0)" })
        await core.shutDown()
        try await relays.stop()
    }
}

extension OfficialPhone {
    /// Its user compares the codes and says yes.
    func confirm(_ desk: PhoneDesk) async throws {
        let shown = try await connect(try await desk.link())
        let code = try await wait(for: "a code") { desk.code }
        #expect(shown == code.description)
        try await verify(shown)
    }

    func waitUntilFree() async throws {
        try await wait(until: "the phone is free") {
            try await command("/list remote ctrls").contains(#""sessionState""#) == false
        }
    }
}
