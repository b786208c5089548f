import Base
import Cryptography
import Network
import Posix
import SMP
import TestSupport
import Testing

@testable import SMPRelay

@Suite("Memory of a relay's clients")
struct BudgetTests {
    private static func message(_ size: Int) -> Client.Message {
        Client.Message(correlationID: [], entityID: [], content: .answer(.ok), isAnswer: true, size: size)
    }

    @Test("each client has its own minimum memory")
    func own() throws {
        let budget = Budget(limit: 100_000)
        let greedy = Client(number: 1, budget: budget, wakeUp: try WakeUp())
        while greedy.mayHold(10_000) { greedy.hold(10_000) }
        #expect(budget.used > 90_000)
        let other = Client(number: 2, budget: budget, wakeUp: try WakeUp())
        #expect(other.mayHold(HeldBytes.own) && !other.mayHold(HeldBytes.own + 20_000))
        other.hold(HeldBytes.own)
        #expect(!other.mayHold(20_000))
        other.release(HeldBytes.own)
        #expect(other.mayHold(HeldBytes.own) && other.heldBytes == 0)
    }

    @Test("one client cannot use the whole budget")
    func most() throws {
        let budget = Budget(limit: 100 << 20)
        let client = Client(number: 1, budget: budget, wakeUp: try WakeUp())
        while client.mayHold(16_384) { client.hold(16_384) }
        #expect(client.heldBytes <= HeldBytes.most && client.heldBytes > HeldBytes.most - 20_000)
        client.leave()
        #expect(budget.used == 0 && client.heldBytes == 0)
    }

    @Test("a command's bytes are held until its answer is sent")
    func answered() throws {
        let budget = Budget(limit: 1 << 20)
        let client = Client(number: 1, budget: budget, wakeUp: try WakeUp())
        client.hold(100_000)
        client.asked()
        client.tell(Self.message(100_000))
        #expect(client.take().messages.count == 1)
        #expect(client.heldBytes == 100_000)
        client.left()
        #expect(client.heldBytes == 0 && budget.used == 0 && client.unanswered == 0)
    }

    @Test("deliveries without memory are postponed")
    func putOff() throws {
        let budget = Budget(limit: 0)
        let client = Client(number: 1, budget: budget, wakeUp: try WakeUp())
        let reserved = (0..<8).map { _ in client.reserveDelivery() }
        #expect(reserved.count { $0 } == 3 && reserved[0])
        for _ in 0..<3 {
            client.tell(
                Client.Message(
                    correlationID: [], entityID: [],
                    content: .delivery(
                        StoredMessage(number: 1, id: [], body: .quota(received: 0)), boxSecret: WipedBytes([])
                    ),
                    isAnswer: false))
        }
        #expect(client.take().wasStarved)
        client.left()
        #expect(client.reserveDelivery())
    }

    @Test("clients that do not read stay within the budget")
    func unansweredSends() async throws {
        let place = try RelayPlace { $0.limits.memory = 1 << 20 }
        try await blocking {
            let owner = try RawClient.connected(to: place.relay.address)
            let queues = try (0..<4).map { _ in try owner.queue(mode: .contact) }
            let hostile = try (0..<12).map { _ in try RawClient.connected(to: place.relay.address) }
            let body = [UInt8](repeating: 1, count: 16_000)
            for (number, client) in hostile.enumerated() {
                let queue = queues[number % queues.count].ids.senderID
                // As many as the socket buffers of both sides hold.
                for _ in 0..<16 {
                    try client.offer(ClientRequest(.send(flags: [], body: body), of: queue))
                }
            }
            let limit = (1 << 20) + 13 * HeldBytes.own + 4 * TransportBlock.size
            for _ in 0..<50 {
                #expect(place.relay.memoryInUse <= limit)
                #expect(try owner.ask(.ping) == .pong)
            }
            for client in hostile { client.stream.shutDown() }
        }
        try await wait(until: "they have left") { place.relay.connectionCount == 0 }
        try await wait(until: "their memory is given back") { place.relay.memoryInUse == 0 }
        await place.stop()
    }
}
