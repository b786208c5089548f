import Base
import ChatCore
import TestSupport
import Testing

@testable import EmbeddedCore

/// Missing files in order of their expiry on relays.
@Suite struct ExpiryTests {
    @Test func missingFilesArePagedByExpiry() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let chat = try #require(try await alice.chats().first { $0.displayName == "bob" }).reference
        let start = world.clock.now()
        for number in 0..<5 {
            let message = try alice.compose(pattern(300_000), name: "\(number).bin")
            _ = try await alice.send(message, to: chat)
            world.clock.advance(by: .seconds(3600))
        }
        // Inline content, which does not expire.
        _ = try await alice.send(try alice.compose(pattern(100), name: "small.txt"), to: chat)
        func receivable(after position: ExpiryPosition, count: Int = 100) async throws -> [String] {
            try await bob.receivableItems(after: position, count: count).compactMap { $0.file?.name }
        }
        let beginning = ExpiryPosition(start)
        let all = (0..<5).map { "\($0).bin" }
        try await wait(until: "all are offered") { try await receivable(after: beginning) == all }
        #expect(try await receivable(after: beginning, count: 2) == ["0.bin", "1.bin"])
        let second = try #require(try await bob.receivableItems(after: beginning, count: 2).last)
        #expect(second.relayExpiry == start.advanced(by: .seconds(49 * 3600)))
        let next = try #require(second.expiryPosition)
        #expect(try await receivable(after: next) == ["2.bin", "3.bin", "4.bin"])
        let late = ExpiryPosition(start.advanced(by: .seconds(51 * 3600)), ItemID(0))
        #expect(try await receivable(after: late) == ["3.bin", "4.bin"])
        #expect(try await alice.receivableItems(after: beginning, count: 100).isEmpty)

        // A received file is no longer listed.
        let file = try #require(second.file?.id)
        try await wait(until: "it is described") {
            try await bob.item(of: file)?.file?.status == .rcvInvitation(described: true)
        }
        try await bob.receiveFile(file, approvedRelays: false)
        try await wait(until: "it is here") { try await bob.item(of: file)?.file?.status == .rcvComplete }
        #expect(try await receivable(after: beginning) == ["0.bin", "2.bin", "3.bin", "4.bin"])
        #expect(try await bob.item(of: file)?.relayExpiry == nil)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func expiryQueryUsesIndex() async throws {
        let world = try World()
        let plan = try world.database().read { connection in
            try connection.query(
                """
                EXPLAIN QUERY PLAN SELECT id FROM file WHERE profile = 1 AND \(Schema.isLeaving)
                AND (expires, item) > (5, 6) ORDER BY expires, item LIMIT 10
                """
            ) { $0.text("detail") }
        }
        #expect(plan.count == 1 && plan[0].contains("file_leaving (profile=? AND"), "\(plan)")
    }
}
