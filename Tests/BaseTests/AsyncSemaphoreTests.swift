import Base
import TestSupport
import Testing

@Suite struct AsyncSemaphoreTests {
    @Test func permitsLimitConcurrentTasks() async {
        let semaphore = AsyncSemaphore(3)
        let running = Lock((now: 0, max: 0, ended: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    guard await semaphore.acquire() else { return }
                    running.withLock { running in
                        running.now += 1
                        running.max = max(running.max, running.now)
                    }
                    await Task.yield()
                    running.withLock { running in
                        running.now -= 1
                        running.ended += 1
                    }
                    semaphore.release()
                }
            }
        }
        #expect(running.withLock { $0.max } <= 3)
        #expect(running.withLock { $0.ended } == 100)
    }

    @Test func waitersAreServedInOrder() async throws {
        let semaphore = AsyncSemaphore(0)
        let order = Lock<[Int]>([])
        for number in 0..<10 {
            let hasBegun = Lock(false)
            Task {
                hasBegun.withLock { $0 = true }
                if await semaphore.acquire() { order.withLock { $0.append(number) } }
            }
            try await wait(until: "it has begun") { hasBegun.withLock { $0 } }
            // Long enough to have started the wait.
            try await Task.sleep(for: .milliseconds(20))
        }
        for count in 1...10 {
            semaphore.release()
            try await wait(until: "one more has it") { order.withLock { $0.count } == count }
        }
        #expect(order.withLock { $0 } == Array(0..<10))
    }

    @Test func aCancelledWaitTakesNoPermit() async {
        let semaphore = AsyncSemaphore(1)
        #expect(await semaphore.acquire())
        let waiting = (0..<5).map { _ in Task { await semaphore.acquire() } }
        for task in waiting { task.cancel() }
        for task in waiting { #expect(await !task.value) }
        semaphore.release()
        #expect(await semaphore.acquire())
    }

    /// Cancelled and served at the same moment: no permit is lost.
    @Test func cancellingDuringAReleaseLosesNoPermit() async {
        let semaphore = AsyncSemaphore(1)
        for _ in 0..<500 {
            guard await semaphore.acquire() else {
                Issue.record("a permit was lost")
                return
            }
            let waiter = Task { await semaphore.acquire() }
            let canceller = Task { waiter.cancel() }
            semaphore.release()
            await canceller.value
            if await waiter.value { semaphore.release() }
        }
        #expect(await semaphore.acquire())
    }

    @Test func withdrawnPermitsDisappearWhenReturned() async {
        let semaphore = AsyncSemaphore(4)
        for _ in 0..<3 { #expect(await semaphore.acquire()) }
        semaphore.withdraw(3)  // the free one and two of the used ones
        for _ in 0..<3 { semaphore.release() }
        #expect(await semaphore.acquire())
        let another = Task { await semaphore.acquire() }
        for _ in 0..<20 { await Task.yield() }
        another.cancel()
        #expect(await !another.value, "one was left")
        semaphore.release()
        semaphore.release()
        #expect(await semaphore.acquire())
        #expect(await semaphore.acquire())
    }
}
