import Base
import ChatCore
import Cryptography
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
