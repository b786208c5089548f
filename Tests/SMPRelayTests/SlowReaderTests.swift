import Base
import Cryptography
import Network
import SMP
import TestSupport
import Testing

@testable import SMPRelay

@Suite("A subscriber that does not read")
struct SlowReaderTests {
    /// More block-sized messages than the socket buffers of both sides hold.
    private static let count = 600

    private static func inBatches(_ requests: [ClientRequest], _ client: RawClient, at once: Int) throws
        -> [Answer]
    {
        try stride(from: 0, to: requests.count, by: once).flatMap { start in
            try client.ask(Array(requests[start..<min(start + once, requests.count)]))
        }
    }

    @Test("gets few messages fetched; the rest stay on disk")
    func fetchesLittle() async throws {
        let place = try RelayPlace()
        try await blocking {
            let (slow, other) = (
                try RawClient.connected(to: place.relay.address),
                try RawClient.connected(to: place.relay.address)
            )
            let key = SigningKey.generate()
            let new = Command.NewQueue(
                recipientKey: key.publicKey, boxKey: AgreementKey.generate().publicKey, subscribes: false,
                mode: .messaging)
            let made = try Self.inBatches(
                (0..<Self.count).map { _ in ClientRequest(.new(new), key: .signing(key)) }, other, at: 50)
            let queues = made.compactMap { answer in
                if case .created(let ids) = answer { ids } else { nil }
            }
            #expect(queues.count == Self.count)
            let subscribed = try Self.inBatches(
                queues.map { ClientRequest(.subscribe, of: $0.recipientID, key: .signing(key)) }, slow, at: 50
            )
            #expect(subscribed.allSatisfy { $0 == .subscribed })
            // It stops reading here.
            let body = [UInt8](repeating: 1, count: 16_000)
            let sent = try Self.inBatches(
                queues.map { ClientRequest(.send(flags: [], body: body), of: $0.senderID) }, other, at: 8)
            #expect(sent.allSatisfy { $0 == .ok })
            // Give the relay time to fetch more on its own.
            for _ in 0..<100 { #expect(try other.ask(.ping) == .pong) }
            let deleted = try Self.inBatches(
                queues.map { ClientRequest(.delete, of: $0.recipientID, key: .signing(key)) }, other, at: 50)
            #expect(deleted.allSatisfy { $0 == .ok })
            // It reads again: these messages had been fetched.
            var (messages, goodbyes) = (0, 0)
            while goodbyes < Self.count {
                for event in try slow.told() {
                    switch event {
                    case .delivered: messages += 1
                    case .deleted: goodbyes += 1
                    default: break
                    }
                }
            }
            #expect(messages >= 8 && messages < Self.count * 3 / 4, "\(messages) messages")
        }
        await place.stop()
    }
}
