import TestSupport
import Testing

@testable import Agent
@testable import Store

/// Keys in the database that are none: of another length than they were written with.
@Suite(.timeLimit(.minutes(1))) struct DamagedKeysTests {
    @Test(
        "what would be sent with a damaged key is refused with a sentence, and does not wait for ever",
        arguments: ["authorization_seed", "queue_key"])
    func sending(column: String) async throws {
        let couple = try await Couple(MemoryRelay())
        await couple.joiner.end()
        try Connection(path: couple.joiner.path, key: nil)
            .execute("UPDATE sending_queue SET \(column) = x'0102'")
        try await couple.joiner.start(after: couple.joiner.diary.lastNumber)
        let error = await #expect(throws: AgentError.self) {
            try await couple.joiner.agent.send(
                Array("hello".utf8), to: couple.toInviter, notifies: false, identifier: nil)
        }
        #expect(error?.code == AgentError.damagedState.code)
        await couple.joiner.end()
        await couple.inviter.end()
    }
}
