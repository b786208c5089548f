import TestSupport
import Testing

@testable import Base

@Suite("a mutex for each key")
struct AsyncKeyedMutexTests {
    private struct Refused: Error, Equatable {}

    private let mutex = AsyncKeyedMutex<String>()
    private let order = Lock<[Int]>([])
    private let gate = AsyncSemaphore(0)

    /// Holds `key` until the gate is opened.
    private func holder(of key: String) async throws -> Task<Void, Never> {
        let task = Task { await mutex.withLock(key) { _ = await gate.acquire() } }
        try await wait(until: "somebody has it") { mutex.waiters(of: key) != nil }
        return task
    }

    @Test("waiters of one key run in order")
    func order() async throws {
        let first = try await holder(of: "a")
        var tasks: [Task<Void, Never>] = []
        for number in 0..<10 {
            tasks.append(
                Task { await mutex.withLock("a") { order.withLock { $0.append(number) } } })
            try await wait(until: "it waits") { mutex.waiters(of: "a") == number + 1 }
        }
        #expect(order.withLock { $0.isEmpty })
        gate.release()
        await first.value
        for task in tasks { await task.value }
        #expect(order.withLock { $0 } == Array(0..<10))
        #expect(mutex.waiters(of: "a") == nil)
    }

    @Test("a key has one holder at a time")
    func exclusion() async {
        let running = Lock((now: [0, 0, 0], most: 0))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask {
                    await mutex.withLock("\(number % 3)") {
                        running.withLock { running in
                            running.now[number % 3] += 1
                            running.most = max(running.most, running.now[number % 3])
                        }
                        await Task.yield()
                        running.withLock { $0.now[number % 3] -= 1 }
                    }
                }
            }
        }
        #expect(running.withLock { $0.most } == 1)
        for key in ["0", "1", "2"] { #expect(mutex.waiters(of: key) == nil) }
    }

    @Test("a turn taken earlier runs first")
    func turns() async throws {
        let (first, given, last) = (mutex.take("a"), mutex.take("a"), mutex.take("a"))
        let second = Task {
            await mutex.begin(last)
            order.withLock { $0.append(2) }
            mutex.end(last)
        }
        await mutex.begin(first)
        mutex.end(given)
        order.withLock { $0.append(1) }
        mutex.end(first)
        await second.value
        #expect(order.withLock { $0 } == [1, 2])
        #expect(mutex.waiters(of: "a") == nil)
    }

    @Test("other keys do not wait")
    func keys() async throws {
        let first = try await holder(of: "a")
        let other = Task { await mutex.withLock("b") { order.withLock { $0.append(7) } } }
        try await wait(until: "the other one is done") { order.withLock { $0 } == [7] }
        await other.value
        #expect(mutex.waiters(of: "a") == 0)
        gate.release()
        await first.value
    }

    @Test("an error is thrown and frees the key")
    func failure() async throws {
        let first = try await holder(of: "a")
        let failing = Task {
            _ = await #expect(throws: Refused()) {
                try await mutex.withLock("a") { () throws(Refused) in throw Refused() }
            }
        }
        try await wait(until: "it waits") { mutex.waiters(of: "a") == 1 }
        let last = Task { await mutex.withLock("a") { order.withLock { $0.append(7) } } }
        gate.release()
        await first.value
        await failing.value
        try await wait(until: "the next one is done") { order.withLock { $0 } == [7] }
        await last.value
    }

    @Test("a cancelled waiter still runs its body")
    func cancellation() async throws {
        let first = try await holder(of: "a")
        let cancelled = Task { await mutex.withLock("a") { Task.isCancelled } }
        try await wait(until: "it waits") { mutex.waiters(of: "a") == 1 }
        cancelled.cancel()
        gate.release()
        await first.value
        #expect(await cancelled.value)
        #expect(mutex.waiters(of: "a") == nil)
    }
}
