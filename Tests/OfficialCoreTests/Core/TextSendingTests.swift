import Base
import ChatCore
import ScriptedCore
import Store
import Testing

@testable import OfficialCore

@Suite("Sending of texts")
struct TextSendingTests {
    private func sent(_ stage: Stage) -> [String?] {
        stage.simplex.change { $0.history.all.filter(\.isSent).map(\.text) }
    }

    @Test func textIsMessageWithoutFile() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        let text = ComposedText(id: "one", text: "two\n\"words\"")
        for _ in 0..<2 { try await core.send(text, to: .direct(1)) }
        #expect(sent(stage) == [#"two\n\"words\""#])
        try await core.send(ComposedText(id: "two", text: "more"), to: .direct(1))
        #expect(sent(stage).count == 2)
        // Only messages with a file are items of the mount.
        #expect(try await core.items(of: .direct(1), before: nil, count: 9).isEmpty)
        await core.shutDown()
    }

    @Test func unnotedTextIsNotRepeated() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        try Database(path: core.folder + "/index.sqlite", migrations: Schema.migrations).transaction {
            _ = try $0.execute(
                "CREATE TRIGGER full BEFORE UPDATE OF item ON send BEGIN SELECT RAISE(ABORT, 'full'); END")
        }
        try await core.send(ComposedText(id: "one", text: "x"), to: .direct(1))
        await #expect {
            try await core.send(ComposedText(id: "one", text: "x"), to: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingUnsure }
        #expect(sent(stage).count == 1)
        await core.shutDown()
    }

    @Test func interruptedTextIsUndecided() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        let isHeld = Lock(true)
        let underWay = Lock(0)
        stage.after("/_send") {
            underWay.withLock { $0 += 1 }
            while isHeld.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(10)) }
        }
        let text = Task<Void, any Error> {
            try await core.send(ComposedText(id: "text", text: "x"), to: .direct(1))
        }
        let composed = try stage.compose("a.txt", id: "file")
        let file = Task<Void, any Error> { _ = try await core.send(composed, to: .direct(1)) }
        #expect(await eventually { underWay.withLock { $0 } == 2 })
        await core.shutDown()
        func code(_ task: Task<Void, any Error>) async -> ChatErrorCode? {
            do {
                try await task.value
                return nil
            } catch {
                return (error as? ChatError)?.code
            }
        }
        #expect(await code(text) == .sendingUnsure)
        #expect(await code(file) == .sendingUndecided)
        isHeld.withLock { $0 = false }

        stage.restart()
        let again = try await stage.open()
        _ = try await again.send(composed, to: .direct(1))
        await #expect { try await again.send(ComposedText(id: "text", text: "x"), to: .direct(1)) } throws: {
            ($0 as? ChatError)?.code == .sendingUnsure
        }
        #expect(stage.simplex.count("/_send") == 0 && sent(stage).count == 2)
        await again.shutDown()
    }

    @Test func brokenTextSendIsNotRepeated() async throws {
        let stage = try Stage { $0.breaking = ["/_send"] }
        let core = try await stage.open()
        for _ in 0..<2 {
            do throws(ChatError) {
                try await core.send(ComposedText(id: "one", text: "x"), to: .direct(1))
                Issue.record("it was told to be sent")
            } catch {
                #expect(error.code == .sendingUnsure)
            }
        }
        #expect(sent(stage).count == 1)
        // The user requests a retry with another request number.
        try await core.send(ComposedText(id: "two", text: "x"), to: .direct(1))
        #expect(sent(stage).count == 2)
        await core.shutDown()
    }
}
