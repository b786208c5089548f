import Base
import Posix
import Testing

@Suite struct MonitorTests {
    @Test func aWaiterReturnsWhenTheStateMatches() {
        let number = Monitor(0)
        let ended = Monitor([Int]())
        for wanted in 1...3 {
            Thread.start("waits") {
                number.wait { $0 >= wanted ? true : nil }
                // A change wakes one waiter, which wakes the next.
                number.change { _ in }
                ended.change { $0.append(wanted) }
            }
        }
        for _ in 0..<3 { number.change { $0 += 1 } }
        #expect(ended.wait { $0.count == 3 ? $0.sorted() : nil } == [1, 2, 3])
    }
}
