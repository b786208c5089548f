import Base
import ChatCore
import TestSupport
import Testing

@testable import FileSystem

@Suite("Chats with problems in the status")
struct SilentChatTests {
    private typealias Fixture = FileSystemFixture

    @Test("a silent chat is listed with a remedy")
    func status() async throws {
        let fixture = try await Fixture.make()
        #expect(await fixture.fileSystem.status().silentChats == nil)
        var chat = try #require(await fixture.core.chats().first { $0.reference == Fixture.bob })
        chat.receivingProblem = "Another program has it."
        fixture.core.tell(.chatUpdated(chat))
        try await wait(until: "it is told") { await fixture.fileSystem.status().silentChats != nil }
        let status = await fixture.fileSystem.status()
        #expect(status.silentChats?.map(\.chat) == ["bob"])
        #expect(status.silentChats?.map(\.problem) == ["Another program has it."])
        let read = MountStatus.decoded(status.encoded)?.silentChats?.map(\.chat)
        #expect(read == ["bob"])
        chat.receivingProblem = nil
        fixture.core.tell(.chatUpdated(chat))
        try await wait(until: "it is over") { await fixture.fileSystem.status().silentChats == nil }
        await fixture.end()
    }

    @Test("changed keys are listed until verified")
    func changedKeys() async throws {
        let fixture = try await Fixture.make()
        var chat = try #require(await fixture.core.chats().first { $0.reference == Fixture.bob })
        for verification in ContactVerification.allCases {
            chat.verification = verification
            fixture.core.tell(.chatUpdated(chat))
            let expected = verification == .revoked ? ["bob"] : nil
            try await wait(until: "it is told") {
                await fixture.fileSystem.status().changedKeys?.map(\.chat) == expected
            }
        }
        #expect(ContactVerification.revoked.warning?.contains("'chatfs contact verify'") == true)
        await fixture.end()
    }
}
