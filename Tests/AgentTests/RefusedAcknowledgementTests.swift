import Base
import Posix
import SMP
import TestSupport
import Testing

@testable import Agent

/// Servers that refuse everything for now, as one with a full disk does.
private struct TroubledServers: QueueServers {
    func ask(_ request: ClientRequest, of server: ServerAddress) async throws(SMPError) -> Answer {
        .error(.internalError)
    }

    func ask(_ requests: [ClientRequest], of server: ServerAddress) async -> [Result<Answer, SMPError>] {
        requests.map { _ in .success(.error(.internalError)) }
    }

    var events: AsyncStream<QueueServerEvent> { AsyncStream(unfolding: { nil }) }
}

@Suite struct RefusedAcknowledgementTests {
    @Test("a refused acknowledgement is followed by a pause")
    func pause() async throws {
        let folder = try TemporaryFolder()
        let store = try AgentStore(
            path: folder.path("connections.db"), key: nil, tools: MachineSide.tools(seed: 1),
            clock: ManualClock())
        let server = try Known.server()
        var queue = ReceivingQueue.fresh(server: server, mode: .contact, random: SeededBytes(2))
        (queue.status, queue.recipientID) = (.active, [UInt8](repeating: 3, count: 24))
        let address = ConnectionState(phase: .address, information: [], receiving: [queue])
        _ = try store.change { try $0.insert(address) }
        let again = Lock(0)
        let receiver = Receiver(
            work: StoreWork(store: store, pool: .shared, log: Log("agent")), servers: TroubledServers(),
            times: Known.times, log: Log("agent"), follow: { _ in },
            subscribeAgain: { _ in again.withLock { $0 += 1 } })
        let place = Subscriptions.Queue(server: server, recipientID: queue.recipientID)
        for round in 1...3 {
            receiver.append(messageID: [1], body: [2], to: place)
            guard case .retry = await receiver.work(place) else { throw WaitedInVain("a pause") }
            #expect(again.withLock { $0 } == round - 1)
            #expect(receiver.waitingBodies == 0)
            // After the pause.
            guard case .idle = await receiver.work(place) else { throw WaitedInVain("the end") }
            #expect(again.withLock { $0 } == round)
            guard case .idle = await receiver.work(place) else { throw WaitedInVain("the end") }
            #expect(again.withLock { $0 } == round)
        }
        // A new connection delivers it during the pause.
        receiver.append(messageID: [1], body: [2], to: place)
        guard case .retry = await receiver.work(place) else { throw WaitedInVain("a pause") }
        receiver.append(messageID: [1], body: [2], to: place)
        guard case .retry = await receiver.work(place) else { throw WaitedInVain("a pause") }
        #expect(again.withLock { $0 } == 3)
        guard case .idle = await receiver.work(place) else { throw WaitedInVain("the end") }
        #expect(again.withLock { $0 } == 4)
        store.close()
    }
}
