import ChatCore
import Desktop
import TestSupport
import Testing

@testable import chatfs

@Suite("Events of the status", .timeLimit(.minutes(10)))
struct StatusSubscriptionTests {
    private typealias Fixture = FileSystemFixture

    @Test("many changes are one event")
    func merged() async throws {
        let fixture = try await Fixture.make()
        let subscription = StatusSubscription(changes: fixture.fileSystem.changes {})
        #expect(await subscription.take().isEmpty)
        let items = (0..<100).map { fixture.core.received("\($0).bin", in: Fixture.bob, size: 1) }
        fixture.core.tell(.newChatItems(items))
        let bob = try fixture.id("bob")
        try await wait(until: "they are there") { fixture.fileSystem.entries(bob).count == 100 }
        try await wait(until: "they are told") {
            let events = await subscription.take().map(\.event)
            #expect(events == [] || events == [.statusChanged])
            return !events.isEmpty
        }
        subscription.cancel()
        fixture.core.tell(.coreUnreachable("There is no connection."))
        try await wait(until: "it is known") { await fixture.fileSystem.syncStatus().coreProblem != nil }
        #expect(await subscription.take().isEmpty)
        await fixture.end()
    }
}
