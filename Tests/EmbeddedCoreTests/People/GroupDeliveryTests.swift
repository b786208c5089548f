import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Delivery results in groups")
struct GroupDeliveryTests {
    /// A profile in a group with its host (connection 1) and members (from 2), and an agent controlled by the
    /// test.
    private func stage(
        members: Int, standing: Bool = true,
        _ outcome: @escaping @Sendable (Int64) -> AgentEvent.Content?
    ) async throws -> (world: World, core: EmbeddedCore, agent: ToldAgent) {
        let world = try World(["alice"])
        let agent = ToldAgent(isEarly: false, outcome: outcome)
        let first = try await world.open("alice")
        try first.store.commit { change in
            let host = MemberReference(id: try id(0), role: .owner)
            let own = MemberReference(id: try id(200), role: .member)
            try change.join(
                GroupConversation(own: own, host: host.id, profile: GroupProfile(displayName: "club")),
                over: ConnectionID(1),
                host: GroupMember(host: host, profile: ContactProfile(displayName: "hans")),
                of: first.profile.id, at: change.time)
            let chat = try #require(try change.tables.groups.group(over: ConnectionID(1))).chat
            for number in 0..<members {
                let member = try id(UInt8(number + 1))
                try change.tables.groups.keep(
                    GroupMember(id: member, role: .member, profile: ContactProfile(displayName: "\(number)")),
                    of: chat)
                let state = MemberConnection(
                    to: member, introducer: host.id, phase: standing ? .connected : .connecting)
                try change.tables.memberConnections.begin(state, in: chat, at: change.elapsed)
                try change.tables.people.insert(ConnectionID(Int64(number + 2)))
                try change.tables.memberConnections.keep(
                    MemberConnectionTable.Stored(
                        chat: chat, state: state, number: ConnectionID(Int64(number + 2))))
            }
        }
        await first.shutDown()
        return (world, try await world.open("alice", over: agent.making), agent)
    }

    private func id(_ number: UInt8) throws -> MemberID { try #require(MemberID(bytes: [number])) }

    private func write(_ core: EmbeddedCore) async throws {
        try await core.send(ComposedText(id: "1", text: "hello"), to: core.chat(named: "club"))
    }

    private func states(_ core: EmbeddedCore, _ count: Int) async throws -> [Line] {
        try await wait(for: "\(count) states") {
            let lines = try await Line.all(core.log(of: "club")).filter { $0.event == "state" }
            return lines.count >= count ? lines : nil
        }
    }

    private func isAnythingLeft(_ world: World) throws -> Bool {
        try world.database().read {
            try $0.exists("SELECT 1 FROM group_delivery") || $0.exists("SELECT 1 FROM handed_message")
        }
    }

    @Test("last receipt marks delivery despite unreachable members")
    func partly() async throws {
        let (world, core, agent) = try await stage(members: 3) {
            $0 == 2 ? .messageFailed(message: 2, .contactGone) : .delivered(message: $0)
        }
        try await write(core)
        #expect(try await states(core, 1).map(\.state) == ["delivered"])
        #expect(agent.sent == 4)
        try await wait(until: "nothing is left of it") { try !isAnythingLeft(world) }
        await core.shutDown()
    }

    @Test("missing receipt delays delivery")
    func waiting() async throws {
        let (world, core, agent) = try await stage(members: 2) { $0 == 3 ? nil : .delivered(message: $0) }
        try await write(core)
        try await wait(until: "two have it") {
            try world.database().read { try $0.exists("SELECT 1 FROM group_delivery WHERE delivered = 2") }
        }
        try await wait(until: "the third has been written to") { agent.sent == 3 }
        #expect(try await Line.all(core.log(of: "club")).allSatisfy { $0.event == "message" })
        await core.shutDown()
    }

    @Test("message failing for all members fails")
    func failed() async throws {
        let (world, core, _) = try await stage(members: 2) { .messageFailed(message: $0, .queueFull) }
        try await write(core)
        let line = try await states(core, 1)[0]
        #expect(line.state == "failed" && line.error == FailureReason.queueFull.sentence)
        let item = try await core.send(core.compose(pattern(10)), to: core.chat(named: "club"))
        let problem = FileProblem(.other, FailureReason.queueFull.sentence)
        #expect(try await core.item(in: "club") { $0 == .sndError(problem) }.id == item.id)
        try await wait(until: "nothing is left of it") { try !isAnythingLeft(world) }
        await core.shutDown()
    }

    @Test("unconnected members get messages without delaying delivery")
    func unfinished() async throws {
        let (world, core, agent) = try await stage(members: 2, standing: false) {
            // The two unconnected members come first.
            $0 == 3 ? .delivered(message: $0) : nil
        }
        try await write(core)
        #expect(try await states(core, 1).map(\.state) == ["delivered"])
        try await wait(until: "all have been written to") { agent.sent == 3 }
        await core.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test("groups above twenty members get no receipts")
    func receipts() async throws {
        for (members, isDue) in [(18, true), (19, false)] {
            let (world, core, _) = try await stage(members: members) { _ in nil }
            let due = try core.store.commit { change in
                let message = ChatMessage(
                    .message(NewMessage(ChatContent(.text, text: "x"))),
                    id: SharedMessageID(from: SystemRandomSource()))
                return try GroupEvents(change: change, profile: core.profile.id).take(
                    [.message(message)], at: change.time, over: ConnectionID(1))
            }
            #expect(due == isDue, "with \(members) beside the host and this profile")
            await core.shutDown()
            withExtendedLifetime(world) {}
        }
    }
}
