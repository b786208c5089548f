import Base
import Testing

@Suite("queues of elements")
struct ElementQueueTests {
    @Test("elements leave in the order of their arrival")
    func order() {
        var queue = ElementQueue<Int>()
        var (arrived, left) = (0, 0)
        // Longer and shorter than the part that is removed at once.
        for count in [1, 3, 63, 64, 65, 500, 2] {
            for _ in 0..<count {
                queue.append(arrived)
                arrived += 1
            }
            for _ in 0..<count * 2 / 3 {
                #expect(queue.first == left && queue.popFirst() == left)
                left += 1
            }
        }
        while let element = queue.popFirst() {
            #expect(element == left)
            left += 1
        }
        #expect(left == arrived)
        #expect(queue.first == nil && queue.popFirst() == nil)
    }

    @Test("an element is released when it leaves")
    func release() {
        final class Held: Sendable {}
        var queue = ElementQueue<Held>()
        weak var held: Held?
        do {
            let first = Held()
            held = first
            queue.append(first)
            queue.append(Held())
        }
        #expect(held != nil)
        _ = queue.popFirst()
        #expect(held == nil)
    }
}
