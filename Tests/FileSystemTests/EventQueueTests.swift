import Base
import TestSupport
import Testing

@testable import FileSystem

@Suite("Event queue")
struct EventQueueTests {
    private typealias Queue = EventQueue<String, Int>
    private let start = ContinuousClock.now

    private func queue(_ events: [(String, Int)]) -> Queue {
        var queue = Queue(retrying: RetryPolicy(first: .seconds(1), maxDelay: .seconds(8), tries: .max))
        for (lane, event) in events { queue.add(event, in: lane) }
        return queue
    }

    /// Takes the available events; those of `failing` fail.
    private func drain(_ queue: inout Queue, at now: Queue.Instant, failing: Set<Int> = []) -> [Int] {
        var taken: [Int] = []
        while let event = queue.next(at: now) {
            taken.append(event)
            if failing.contains(event) { _ = queue.failed(at: now) } else { queue.succeeded() }
        }
        return taken
    }

    @Test("events keep their order")
    func order() {
        var queue = queue((0..<3000).map { ("\($0 % 7)", $0) })
        #expect(drain(&queue, at: start) == Array(0..<3000))
        #expect(queue.nextTry == nil)
        queue.add(1, in: "a")
        #expect(drain(&queue, at: start) == [1])
    }

    @Test("a failed event delays only its lane")
    func failure() throws {
        var queue = queue([("a", 1), ("b", 2), ("a", 3), ("b", 4)])
        #expect(drain(&queue, at: start, failing: [1]) == [1, 2, 4])
        queue.add(5, in: "a")
        queue.add(6, in: "b")
        #expect(drain(&queue, at: start) == [6])
        let again = try #require(queue.nextTry)
        #expect(again > start && again <= start + .seconds(1))
        #expect(drain(&queue, at: again) == [1, 3, 5])
        #expect(queue.nextTry == nil)
    }

    @Test("delays grow and reset after a success")
    func delays() throws {
        var queue = queue([("a", 1)])
        var now = start
        var delays: [Duration] = []
        for failures in 1...6 {
            _ = queue.next(at: now)
            #expect(queue.failed(at: now) == failures)
            let next = try #require(queue.nextTry)
            #expect(queue.next(at: next - .nanoseconds(1)) == nil)
            delays.append(next - now)
            now = next
        }
        // Jitter reduces a delay by at most a quarter.
        for (delay, longest) in zip(delays, [1, 2, 4, 8, 8, 8]) {
            #expect(delay <= .seconds(longest) && delay >= .seconds(longest) * 0.75)
        }
        queue.add(2, in: "a")
        #expect(drain(&queue, at: now, failing: [2]) == [1, 2])
        #expect(try #require(queue.nextTry) <= now + .seconds(1))
    }

    @Test("finishing waits for no delay")
    func end() {
        var queue = queue([("a", 1), ("a", 2), ("b", 3)])
        #expect(drain(&queue, at: start, failing: [1, 3]) == [1, 3])
        queue.endDelays(at: start)
        #expect(drain(&queue, at: start).sorted() == [1, 2, 3])
        #expect(queue.nextTry == nil)
    }

    /// Numbered events that fail at random: each lane is delivered complete and in order.
    @Test(
        "every event is delivered in lane order", arguments: 1...20)
    func histories(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var queue = queue([])
        var (added, taken): ([String: [Int]], [String: [Int]]) = ([:], [:])
        var now = start
        for event in 0..<200 {
            let lane = "\(Int.random(in: 0..<4, using: &random))"
            queue.add(event, in: lane)
            added[lane, default: []].append(event)
            while Int.random(in: 0..<3, using: &random) > 0, let event = queue.next(at: now) {
                if Bool.random(using: &random) {
                    _ = queue.failed(at: now)
                } else {
                    queue.succeeded()
                    let lane = added.first { $0.value.contains(event) }?.key ?? ""
                    taken[lane, default: []].append(event)
                }
            }
            now += .milliseconds(Int.random(in: 0..<500, using: &random))
        }
        now += .seconds(100)
        for event in drain(&queue, at: now) {
            taken[added.first { $0.value.contains(event) }?.key ?? "", default: []].append(event)
        }
        #expect(taken == added)
    }
}
