import Testing

@testable import Fuse

@Suite struct ThreadDemandTests {
    @Test func oneThreadWaitsUpToTheLimit() {
        var demand = ThreadDemand(limit: 3)
        let asked = (0..<3).map { _ in demand.received(isShort: false) }
        #expect(asked == [true, true, false] && demand.threads == 3)
        for _ in 0..<3 { demand.performed(isShort: false) }
        let again = demand.received(isShort: false)
        #expect(!again && demand.threads == 3)
    }

    @Test func sequentialRequestsNeedTwoThreads() {
        var demand = ThreadDemand(limit: 8)
        for _ in 0..<1_000 {
            _ = demand.received(isShort: false)
            demand.performed(isShort: false)
        }
        #expect(demand.threads == 2)
    }

    @Test func shortRequestsNeedNoThread() {
        var demand = ThreadDemand(limit: 8)
        let asked = (0..<1_000).map { _ in demand.received(isShort: true) }
        for _ in 0..<1_000 { demand.performed(isShort: true) }
        #expect(!asked.contains(true) && demand.threads == 1)
        let next = demand.received(isShort: false)
        #expect(next)
    }

    @Test func failedThreadIsRequestedAgain() {
        var demand = ThreadDemand(limit: 2)
        let first = demand.received(isShort: false)
        demand.failedToBegin()
        #expect(first && demand.threads == 1)
        demand.performed(isShort: false)
        let again = demand.received(isShort: false)
        #expect(again)
    }
}
