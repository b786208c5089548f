import TestSupport
import Testing

@testable import Outbox

/// The rules of the queue, and random events against a plain list.
@Suite struct ChatQueueTests {
    private func all(_ queue: inout ChatQueue<String>) -> [String] { queue.dequeue { _ in true } }

    @Test func queueIsFirstInFirstOut() {
        var queue = ChatQueue<String>()
        queue.reserve("a", at: 1)
        queue.reserve("b", at: 2)
        queue.enqueue("b", at: 2)
        #expect(!queue.hasReady)
        #expect(all(&queue) == [])
        queue.enqueue("a", at: 1)
        #expect(queue.hasReady)
        #expect(all(&queue) == ["a", "b"])
        #expect(queue.isEmpty && !queue.hasReady)
    }

    @Test func removedDraftBlocksNone() {
        var queue = ChatQueue<String>()
        for (number, name) in ["a", "b", "c"].enumerated() { queue.reserve(name, at: Int64(number)) }
        queue.enqueue("c", at: 2)
        queue.remove("a")
        #expect(!queue.hasReady)
        queue.remove("b")
        #expect(all(&queue) == ["c"])
        queue.remove("nobody")
        #expect(queue.isEmpty)
    }

    @Test func reenteringDraftGetsNewNumber() {
        var queue = ChatQueue<String>()
        queue.enqueue("a", at: 1)
        queue.enqueue("b", at: 2)
        queue.reserve("a", at: 3)
        #expect(all(&queue) == ["b"])
        queue.enqueue("a", at: 3)
        #expect(all(&queue) == ["a"])
    }

    @Test func returningDraftKeepsItsPlace() {
        var queue = ChatQueue<String>()
        queue.enqueue("a", at: 1)
        #expect(all(&queue) == ["a"])
        queue.enqueue("c", at: 3)
        queue.enqueue("a", at: 1)
        queue.enqueue("b", at: 2)
        #expect(all(&queue) == ["a", "b", "c"])
    }

    @Test func capacityLimitsTakenDrafts() {
        var queue = ChatQueue<String>()
        for (number, name) in ["a", "b", "c"].enumerated() { queue.enqueue(name, at: Int64(number)) }
        var count = 0
        let first = queue.dequeue { _ in
            count += 1
            return count <= 2
        }
        #expect(first == ["a", "b"])
        #expect(all(&queue) == ["c"])
    }

    @Test(arguments: 1...20)
    func randomEventsMatchAList(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var queue = ChatQueue<Int>()
        var plain: [(element: Int, number: Int64, isReady: Bool)] = []
        var used: Set<Int64> = []
        for _ in 0..<2000 {
            let element = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let number = plain.first { $0.element == element }?.number
                let other = Int64.random(in: 0..<5000, using: &random)
                let place = number ?? other
                guard number != nil || used.insert(place).inserted else { continue }
                let isReady = Bool.random(using: &random)
                plain.removeAll { $0.element == element }
                plain.append((element, place, isReady))
                if isReady { queue.enqueue(element, at: place) } else { queue.reserve(element, at: place) }
            case 2:
                plain.removeAll { $0.element == element }
                queue.remove(element)
            default:
                plain.sort { $0.number < $1.number }
                let expected = plain.prefix { $0.isReady }.map(\.element)
                #expect(queue.hasReady == !expected.isEmpty)
                let gone = queue.dequeue { _ in true }
                #expect(gone == expected)
                plain.removeFirst(expected.count)
                #expect(queue.isEmpty == plain.isEmpty)
            }
        }
    }
}
