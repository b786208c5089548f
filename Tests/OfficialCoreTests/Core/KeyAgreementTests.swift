import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

/// The agent refuses to send during a ratchet sync (`CMD PROHIBITED`).
@Suite("Sends during a ratchet sync")
struct KeyAgreementTests {
    private static let refusal = ErrorTests.agent(
        #"{"type":"CMD","cmdErr":{"type":"PROHIBITED"},"errContext":"sendMessagesB: send prohibited"}"#)

    @Test("the error is temporary and explains the wait")
    func sentence() throws {
        let error = try ErrorTests.error(Self.refusal)
        #expect(error.path == ["errorAgent", "CMD", "PROHIBITED"])
        #expect(error.chatError.code == .internalError)
        for words in ["agree on new keys", "online", "'chatfs contact renew'"] {
            #expect(error.chatError.sentence.contains(words))
        }
        #expect(!error.chatError.sentence.contains("ratchet"))
        // File problems have no kind for this refusal.
        #expect(error.fileProblem.kind == .other && !error.fileProblem.isFinal)
    }

    @Test(
        "other refusals are no ratchet sync",
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

    @Test("a refused file remains staged for later")
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

    @Test("a text is refused with the sentence")
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
