import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Connection conditions")
struct ConditionTests {
    private let agent = ToldAgent(isEarly: false) { _ in nil }

    private func tell(_ content: AgentEvent.Content, _ number: Int64) async throws {
        agent.tell(content, of: ConnectionID(1), number: number)
        try await wait(until: "it is taken") { agent.isTaken(number) }
    }

    private func tell(_ phase: RatchetSyncPhase, _ number: Int64) async throws {
        let condition = ConnectionCondition(phase: .connected, synchronisation: phase)
        try await tell(.conditionChanged(condition), number)
    }

    @Test("failed connection ends the chat with its reason")
    func failed() async throws {
        let core = try await World(["alice"]).openAlice(over: agent)
        try await tell(.connectionFailed(.restored), 1)
        let refused: [String: String] = try await core.chats().reduce(into: [:]) {
            $0[$1.displayName] = $1.sendingRefused
        }
        #expect(refused == ["bob": FailureReason.restored.sentence])
        let error = await refusal {
            try await core.send(ComposedText(id: "1", text: "hello"), to: core.chat(named: "bob"))
        }
        #expect(error?.code == .sendingRefused)
        await core.shutDown()
    }

    @Test("taken-over address is reported until recovered")
    func address() async throws {
        let world = try World(["alice"])
        await (try await world.openAlice(over: agent)).shutDown()
        try world.database().transaction {
            try $0.execute(
                "INSERT INTO contact_address (profile, connection, link, accepts) SELECT id, 1, 'x', 'ask' FROM profile"
            )
            try $0.execute("UPDATE connection SET chat = NULL WHERE number = 1")
        }
        let agent = ToldAgent(isEarly: false) { _ in nil }
        let core = try await world.open("alice", over: agent.making)
        for (number, isTakenOver) in [(1, true), (2, false)] as [(Int64, Bool)] {
            let condition = ConnectionCondition(phase: .address, isTakenOver: isTakenOver)
            agent.tell(.conditionChanged(condition), of: ConnectionID(1), number: number)
            try await wait(until: "it is taken") { agent.isTaken(number) }
            #expect(try await (core.address()?.problem != nil) == isTakenOver)
        }
        await core.shutDown()
    }

    @Test(
        "key agreement is shown in chat and log"
    )
    func newKeys() async throws {
        let core = try await World(["alice"]).openAlice(over: agent)
        func waiting() async throws -> [String] {
            try await core.chats().filter { $0.sendingProblem != nil }.map(\.displayName)
        }
        func told() async throws -> Int {
            try await Line.all(core.log(of: "bob")).filter { $0.event == "keys" && $0.sender == "bob" }.count
        }
        // An unreadable message was followed by a readable one: the keys are unchanged.
        for (phase, isWaiting) in [(.allowed, false), (.required, true), (.synchronised, false)]
            as [(RatchetSyncPhase, Bool)]
        {
            try await tell(phase, agent.next)
            #expect(try await waiting() == (isWaiting ? ["bob"] : []))
        }
        #expect(try await core.chats().allSatisfy { $0.sendingRefused == nil })
        for round in 1...2 {
            try await tell(.started, agent.next)
            try await tell(.agreed, agent.next)
            #expect(try await waiting() == ["bob"])
            try await tell(.synchronised, agent.next)
            #expect(try await waiting() == [])
            #expect(try await told() == round)
        }
        await core.shutDown()
    }
}
