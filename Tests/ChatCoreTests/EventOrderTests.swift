import Base
import TestSupport
import Testing

@testable import ChatCore

@Suite("Event order against a model")
struct EventOrderTests {
    private static func event(_ number: Int) -> ChatEvent { .chatRemoved(.direct(Int64(number))) }

    private static func numbers(_ stream: AsyncStream<ChatEvent>) async -> [Int] {
        var numbers: [Int] = []
        for await case .chatRemoved(.direct(let number)) in stream { numbers.append(Int(number)) }
        return numbers
    }

    @Test(
        "events follow change numbers in any delivery order",
        arguments: 0..<10)
    func anyOrder(seed: UInt64) async {
        var random = SeededGenerator(state: seed)
        let hub = EventHub()
        let first = hub.listen()
        var (open, reserved, expected) = ([(number: UInt64, events: [Int])](), 0, [Int]())
        for _ in 0..<200 {
            if open.isEmpty || Bool.random(using: &random) {
                let count = Int.random(in: 0..<4, using: &random)
                let events = (0..<count).map { reserved * 10 + $0 }
                open.append((hub.reserve(), events))
                expected += events
                reserved += 1
            } else {
                let change = open.remove(at: Int.random(in: 0..<open.count, using: &random))
                hub.deliver(change.events.map(Self.event), ofChange: change.number)
            }
        }
        for change in open.shuffled(using: &random) {
            hub.deliver(change.events.map(Self.event), ofChange: change.number)
        }
        hub.close()
        #expect(await Self.numbers(first) == expected)
    }

    @Test("events wait for all earlier changes")
    func waiting() async {
        let hub = EventHub()
        var stream = hub.listen().makeAsyncIterator()
        let (first, second, third) = (hub.reserve(), hub.reserve(), hub.reserve())
        hub.deliver([Self.event(30)], ofChange: third)
        hub.deliver([Self.event(20), Self.event(21)], ofChange: second)
        hub.deliver([Self.event(10)], ofChange: first)
        var told: [Int64] = []
        while told.count < 4, case .chatRemoved(.direct(let number))? = await stream.next() {
            told.append(number)
        }
        #expect(told == [10, 20, 21, 30])
    }

    @Test("concurrent changes reach all listeners whole")
    func threads() async {
        let hub = EventHub()
        let streams = (0..<3).map { _ in hub.listen() }
        let transaction = BlockingMutex()
        let order = Lock<[Int]>([])
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    hub.publish { reserve -> (result: Void, events: [ChatEvent]) in
                        // Serialised like transactions.
                        transaction.withLock {
                            reserve()
                            order.withLock { $0.append(number) }
                        }
                        return ((), [Self.event(number * 2), Self.event(number * 2 + 1)])
                    }
                }
            }
        }
        hub.close()
        let expected = order.withLock { $0 }.flatMap { [$0 * 2, $0 * 2 + 1] }
        for stream in streams { #expect(await Self.numbers(stream) == expected) }
    }

    @Test("removed listener does not affect others")
    func listeners() async {
        let hub = EventHub()
        hub.tell(Self.event(1))
        var left: AsyncStream<ChatEvent>? = hub.listen()
        let stays = hub.listen()
        hub.tell(Self.event(2))
        left = nil
        #expect(left == nil)
        hub.tell(Self.event(3))
        hub.close()
        hub.tell(Self.event(4))
        #expect(await Self.numbers(stays) == [2, 3])
    }
}
