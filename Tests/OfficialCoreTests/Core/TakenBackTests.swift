import ChatCore
import Posix
import ScriptedCore
import Store
import Testing

@testable import OfficialCore

/// A draft was removed while the core might have its message. The core is only asked, and no message is sent.
@Suite("Retraction of sends")
struct TakenBackTests {
    private func sent(_ stage: Stage) -> Int {
        stage.simplex.change { $0.history.all.filter(\.isSent).count }
    }

    @Test func sentMessageIsFoundUntilDeletion() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        let item = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        #expect(try await core.item(sentAs: "one", in: .direct(1))?.id == item.id)
        #expect(try await core.item(sentAs: "two", in: .direct(1)) == nil)
        try await core.deleteItems([item.id], in: .direct(1), mode: .broadcast)
        #expect(try await core.item(sentAs: "one", in: .direct(1)) == nil)
        #expect(stage.simplex.count("/_send") == 1)
        await core.shutDown()
    }

    @Test func unnotedMessageIsFound() async throws {
        let stage = try Stage()
        let first = try await stage.open(.library)
        let item = try await first.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        let index = try Database(path: first.folder + "/index.sqlite", migrations: Schema.migrations)
        try index.transaction { _ = try $0.execute("UPDATE send SET item = NULL") }
        await first.shutDown()
        stage.restart()
        let second = try await stage.open(.library)
        #expect(try await second.item(sentAs: "one", in: .direct(1))?.id == item.id)
        await second.shutDown()
    }

    /// The library ended with its process, so a command that it did not process is lost.
    @Test func untakenMessageIsAbsent() async throws {
        let (stage, message) = try await interruptedSend()
        let core = try await stage.open(.library)
        #expect(try await core.item(sentAs: "one", in: .direct(1)) == nil)
        #expect(sent(stage) == 0 && stage.simplex.count("/_send") == 0)
        // The attempt leaves no record: the same message would be new.
        _ = try await core.send(message, to: .direct(1))
        #expect(sent(stage) == 1)
        await core.shutDown()
    }

    @Test func messageWithoutItemIsUnknown() async throws {
        let (stage, _) = try await interruptedSend { $0.orphans = 1 }
        let core = try await stage.open(.library)
        await #expect {
            _ = try await core.item(sentAs: "one", in: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingUnsure }
        #expect(stage.simplex.count("/_send") == 0)
        await core.shutDown()
    }

    /// A process that ended before the core answered.
    private func interruptedSend(
        _ change: @Sendable (inout ScriptedState) -> Void = { _ in }
    ) async throws -> (Stage, ComposedMessage) {
        let stage = try Stage { $0.silent = ["/_send"] }
        let first = try await stage.open(.library)
        let message = try stage.compose("a.txt", id: "one")
        let sending = Task { try? await first.send(message, to: .direct(1)) }
        #expect(await eventually { stage.simplex.count("/_send") == 1 })
        stage.simplex.change(change)
        await first.shutDown()
        _ = await sending.value
        stage.restart()
        stage.simplex.change { $0.silent = [] }
        return (stage, message)
    }
}
