import Base
import Glibc
import Posix
import Testing

@Suite struct WorkBesideTests {
    private let pool = ThreadPool(name: "beside", threads: 1)

    @Test func bothRunAtTheSameTime() throws {
        // Each waits for the start of the other.
        let begun = Lock(Set<String>())
        let meet: @Sendable (String) -> Void = { name in
            _ = begun.withLock { $0.insert(name) }
            while begun.withLock({ $0.count }) < 2 { usleep(100) }
        }
        try pool.doing({ meet("other") }, beside: { meet("own") })
        #expect(begun.withLock { $0 } == ["other", "own"])
    }

    @Test func withoutAFreeThreadTheCallerRunsBoth() throws {
        let isHeld = Lock(true)
        pool.submit { while isHeld.withLock({ $0 }) { usleep(100) } }
        defer { isHeld.withLock { $0 = false } }
        let order = Lock([String]())
        try pool.doing(
            { order.withLock { $0.append("other") } }, beside: { order.withLock { $0.append("own") } })
        #expect(order.withLock { $0 } == ["own", "other"])
    }

    @Test func claimedWorkRunsOnce() async throws {
        let isHeld = Lock(true)
        pool.submit { while isHeld.withLock({ $0 }) { usleep(100) } }
        let times = Lock(0)
        try pool.doing({ times.withLock { $0 += 1 } }, beside: {})
        isHeld.withLock { $0 = false }
        // One thread works in order, so it has seen the offer by now.
        await pool.run {}
        #expect(times.withLock { $0 } == 1)
    }

    @Test func errorsAreThrownAfterBothEnded() {
        struct Broken: Error, Equatable { let name: String }
        let isOver = Lock(false)
        #expect(throws: Broken(name: "own")) {
            try pool.doing({ isOver.withLock { $0 = true } }, beside: { throw Broken(name: "own") })
        }
        #expect(isOver.withLock { $0 })
        #expect(throws: Broken(name: "other")) {
            try pool.doing({ throw Broken(name: "other") }, beside: {})
        }
        #expect(throws: Broken(name: "own")) {
            try pool.doing({ throw Broken(name: "other") }, beside: { throw Broken(name: "own") })
        }
    }
}
