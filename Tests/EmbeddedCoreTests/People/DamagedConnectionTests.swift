import ChatCore
import TestSupport
import Testing

@testable import EmbeddedCore
@testable import Store

@Suite("Damaged connection")
struct DamagedConnectionTests {
    /// Damage by a failing disk or a defect, in one row.
    enum Damage: String, CaseIterable, Sendable {
        case ratchet = "UPDATE connection SET ratchet = x'0102'"
        case phase = "UPDATE connection SET phase = 'unheard of'"
        case queueKey = "UPDATE sending_queue SET authorization_seed = x'0102'"
        case receivingKey = "UPDATE receiving_queue SET authorization_seed = x'0102'"
        case server = "UPDATE receiving_queue SET server = 'nowhere'"
    }

    @Test(
        "damaged connection fails alone and can be deleted",
        arguments: Damage.allCases)
    func others(damage: Damage) async throws {
        let internet = try Internet()
        let (alice, bob) = try await internet.pair()
        let directory = alice.world.directory
        let path = try directory.folders(of: directory.profile(named: "alice")).own
        await (try alice.core).shutDown()
        try Connection(path: path + "/agent.sqlite", key: nil).execute("\(damage.rawValue)")
        try await alice.open()
        let carol = try internet.machine("carol")
        let invitation = try await alice.core.invite()
        let joined = try await carol.open().accept(invitation.link)
        _ = try await wait(for: "carol") { try await alice.core.contact(of: invitation.connection) }

        _ = try await wait(for: "alice") { try await carol.core.contact(of: joined) }
        let lost = try await alice.core.chat(named: "bob")
        try await alice.core.send(ComposedText(id: "1", text: "to bob"), to: lost)
        try await alice.core.send(
            ComposedText(id: "2", text: "to carol"), to: alice.core.chat(named: "carol"))
        #expect(try await carol.lines(of: "alice", count: 1).map(\.text) == ["to carol"])
        let failed = try await wait(for: "the end of the message") {
            try await alice.lines(of: "bob", count: 1).first { $0.state == "failed" }
        }
        #expect(failed.error?.contains("damaged") == true, "\(failed)")

        try await alice.core.deleteChat(lost)
        #expect(try await alice.core.chats().allSatisfy { $0.displayName != "bob" })
        let agent = try await wait(for: "the end of the connection") {
            let left = try Connection(path: path + "/agent.sqlite", key: nil).first(
                "SELECT count(*) AS count FROM connection"
            ) { $0.integer("count") }
            return left == 1 ? left : nil
        }
        #expect(agent == 1)
        for machine in [alice, bob, carol] { await (try machine.core).shutDown() }
    }
}
