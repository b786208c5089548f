import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

/// The agent refuses to send over a connection whose two sides agree on new keys (`CMD PROHIBITED`).
@Suite("While a contact and the core agree on new keys, who sends is told what to wait for")
struct KeyAgreementTests {
    private static let refusal = ErrorTests.agent(
        #"{"type":"CMD","cmdErr":{"type":"PROHIBITED"},"errContext":"sendMessagesB: send prohibited"}"#)

    @Test("the sentence says what it waits for and what to do, and the error may pass")
    func sentence() throws {
        let error = try ErrorTests.error(Self.refusal)
        #expect(error.path == ["errorAgent", "CMD", "PROHIBITED"])
        #expect(error.chatError.code == .internalError)
        for words in ["agree on new keys", "online", "'chatfs contact renew'"] {
            #expect(error.chatError.sentence.contains(words))
        }
        #expect(!error.chatError.sentence.contains("ratchet"))
        // Of a file nothing more is known than that.
        #expect(error.fileProblem.kind == .other && !error.fileProblem.isFinal)
    }

    @Test(
        "other refusals of a command are no agreement on keys",
        arguments: [
            #"{"type":"CMD","cmdErr":{"type":"SYNTAX"}}"#, #"{"type":"CMD"}"#,
            #"{"type":"SMP","serverAddress":"s","smpErr":{"type":"CMD","cmdErr":{"type":"PROHIBITED"}}}"#,
            #"{"type":"XFTP","serverAddress":"s","xftpErr":{"type":"CMD","cmdErr":{"type":"PROHIBITED"}}}"#,
            #"{"type":"CONN","connErr":{"type":"PROHIBITED"}}"#,
            #"{"type":"CMD","cmdErr":{"type":"PROHIBITED"},"errContext":"switchConnection: not duplex"}"#,
            #"{"type":"CMD","cmdErr":{"type":"PROHIBITED"}}"#,
        ])
    func others(json: String) throws {
        let error = try ErrorTests.error(ErrorTests.agent(json)).chatError
        #expect(!error.sentence.contains("keys"))
        #expect(error.code == .internalError)
    }

    @Test("a file that is refused so stays where it was staged, and the same message is sent later, once")
    func sentLater() async throws {
        let stage = try Stage { $0.refusals["/_send"] = Self.refusal }
        let core = try await stage.open()
        let message = try stage.compose("a.txt", id: "one")
        for _ in 0..<2 {
            await #expect {
                _ = try await core.send(message, to: .direct(1))
            } throws: { error in
                guard let error = error as? ChatError else { return false }
                return error.code == .internalError && error.sentence.contains("agree on new keys")
            }
        }
        stage.simplex.change { $0.refusals = [:] }
        #expect(try await core.item(sentAs: "one", in: .direct(1)) == nil)
        let item = try await core.send(message, to: .direct(1))
        #expect(try await core.item(sentAs: "one", in: .direct(1))?.id == item.id)
        #expect(stage.simplex.change { $0.history.all.count(where: \.isSent) } == 1)
        await core.shutDown()
    }

    @Test("a text is refused with the same sentence")
    func texts() async throws {
        let stage = try Stage { $0.refusals["/_send"] = Self.refusal }
        let core = try await stage.open()
        await #expect {
            try await core.send(ComposedText(id: "one", text: "hello"), to: .direct(1))
        } throws: { ($0 as? ChatError)?.sentence.contains("agree on new keys") == true }
        stage.simplex.change { $0.refusals = [:] }
        try await core.send(ComposedText(id: "one", text: "hello"), to: .direct(1))
        #expect(stage.simplex.change { $0.history.all.map(\.text) } == ["hello"])
        await core.shutDown()
    }
}
