import ChatCore
import CoreContract
import Glibc
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Requests for missing objects")
struct ContractTests {
    @Test func contract() async throws {
        let world = try World(["alice", "bob", "carol"])
        try world.directory.connect("alice", "bob")
        try world.directory.connect("alice", "carol")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let heard = Listener(alice)
        let (chat, mine) = (try await alice.chat(named: "bob"), try await bob.chat(named: "alice"))
        _ = try await bob.send(try bob.compose(pattern(1000), name: "complete"), to: mine)
        _ = try await bob.send(try bob.compose(pattern(300_000), name: "offered"), to: mine)
        let cancelled = try await bob.send(try bob.compose(pattern(300_000), name: "cancelled"), to: mine)
        try await heard.waits(for: "rcvFileDescrReady", times: 2)
        try await bob.cancelFile(try #require(cancelled.file).id)
        try await heard.waits(for: "rcvFileSndCancelled")
        let sent = try await alice.send(try alice.compose(pattern(300_000), name: "sent"), to: chat)
        let items = try await alice.items(of: chat, before: nil, count: 9)
        func item(_ name: String) throws -> ChatItem {
            try #require(items.first { $0.file?.name == name })
        }
        let cast = CoreContract.Cast(
            chat: chat, other: try await alice.chat(named: "carol"), offered: try item("offered"),
            complete: try item("complete"), cancelled: try item("cancelled"), sent: sent)
        #expect(cast.cancelled?.file?.status == .rcvCancelled && cast.complete.file?.status == .rcvComplete)
        let contract = CoreContract(
            alice, cast, compose: { try alice.compose(pattern(1000), name: $0) },
            isThere: { access($0, F_OK) == 0 })
        #expect(try await contract.violations() == [])
        await alice.shutDown()
        await bob.shutDown()
    }
}
