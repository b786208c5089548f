import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// Connections whose peer never answers.
@Suite(.timeLimit(.minutes(10))) struct UnansweredTests {
    private static let days = Duration.seconds(22 * 86_400)

    /// An address with this many abandoned requests.
    private static func asked(
        _ relay: MemoryRelay, _ clock: ManualClock, by count: Int
    ) async throws -> (Person, [ContactRequestID], String) {
        let owner = try await Person(relay, clock: clock)
        let address = try await owner.agent.invite(
            Invitation(kind: .address, server: Known.server(), linkData: nil))
        let link = address.links.full.link
        for number in 1...count {
            let asker = try await Person(relay, servers: [2])
            _ = try await asker.agent.join(link: link, information: bytes("asker"), confirmation: [])
            await owner.diary.wait { $0.filter { $0.request != nil }.count == number }
            await asker.end()
        }
        return (owner, await owner.diary.events.compactMap(\.request?.id), link)
    }

    @Test(arguments: [false, true])
    func unansweredRequestsLeaveNoQueues(restarts: Bool) async throws {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let (owner, requests, _) = try await Self.asked(relay, clock, by: 4)
        let before = relay.queueCount
        for request in requests.dropLast() {
            _ = try await owner.agent.accept(request, information: bytes("owner"))
        }
        #expect(await owner.agent.finishSending(until: .now + .seconds(60)))
        #expect(relay.queueCount == before + 3)
        clock.advance(by: Self.days)
        if restarts {
            try await owner.restart()
        } else {
            _ = try await owner.agent.accept(requests[3], information: bytes("owner"))
        }
        await owner.diary.wait { $0.filter { $0.content == .connectionFailed(.noAnswer) }.count == 3 }
        // The queue of the last request stays: its time is not over.
        try await wait(until: "the queues are gone") { relay.queueCount == before + (restarts ? 0 : 1) }
        await owner.end()
    }
}
