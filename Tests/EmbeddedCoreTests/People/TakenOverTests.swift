import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Taken-over connection")
struct TakenOverTests {
    @Test("problem is shown until recovery or leaving")
    func told() async throws {
        let world = try World(["alice"])
        let agent = ToldAgent(isEarly: false) { _ in nil }
        let core = try await world.openAlice(over: agent)
        let heard = Listener(core)
        func problems() async throws -> [String: String] {
            try await core.chats().reduce(into: [:]) { $0[$1.displayName] = $1.receivingProblem }
        }
        func tell(_ isTakenOver: Bool, _ number: Int64) async throws {
            let condition = ConnectionCondition(phase: .connected, isTakenOver: isTakenOver)
            agent.tell(.conditionChanged(condition), of: ConnectionID(1), number: number)
            try await wait(until: "it is taken") { agent.isTaken(number) }
        }
        #expect(try await problems().isEmpty)
        try await tell(true, 1)
        try await heard.waits(for: "chatUpdated")
        let found = try await problems()
        #expect(Array(found.keys) == ["bob"])
        #expect(found["bob"]?.contains("End that program and open the profile here again") == true)
        #expect(try await core.chats().allSatisfy { $0.sendingRefused == nil })
        try await tell(false, 2)
        #expect(try await problems().isEmpty)
        try await tell(true, 3)
        try await core.leaveChat(core.chat(named: "bob"))
        #expect(try await problems().isEmpty)
        await core.shutDown()
    }
}
