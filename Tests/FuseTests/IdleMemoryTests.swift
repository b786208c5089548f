import Base
import TestSupport
import Testing

@testable import Fuse

@Suite struct IdleMemoryTests {
    @Test func memoryIsReturnedOncePerIdlePeriod() async throws {
        let given = Lock(0)
        let (counts, memory) = (
            RequestCounts(), IdleMemory(after: .milliseconds(50)) { given.withLock { $0 += 1 } }
        )
        for round in 1...3 {
            for _ in 0..<100 {
                counts.note(1)
                memory.requestCame(counts)
            }
            try await wait(until: "it is given back") { given.withLock { $0 } == round }
            try await Task.sleep(for: .milliseconds(200))
            #expect(given.withLock { $0 } == round, "nothing more without requests")
        }
    }

    @Test func requestsDelayReturningMemory() async throws {
        let given = Lock(0)
        let (counts, memory) = (
            RequestCounts(), IdleMemory(after: .milliseconds(400)) { given.withLock { $0 += 1 } }
        )
        for _ in 0..<100 {
            counts.note(1)
            memory.requestCame(counts)
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(given.withLock { $0 } == 0)
        #expect(counts.total == 100)
    }

    /// Returned code pages are loaded again.
    @Test func processWorksAfterReturningCode() async throws {
        let given = Lock(0)
        let counts = RequestCounts()
        for round in 0..<5 {
            let memory = IdleMemory(after: .zero)
            counts.note(2)
            memory.requestCame(counts)
            let told = IdleMemory(after: .milliseconds(20)) { given.withLock { $0 += 1 } }
            told.requestCame(counts)
            try await wait(until: "the next has had its time") { given.withLock { $0 } == round + 1 }
            #expect((0..<1000).map { "\($0)" }.joined().count == 2890)
        }
    }
}
