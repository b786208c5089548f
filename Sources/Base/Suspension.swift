/// A gate that pauses work. New work waits until `resume()`, which also ends retry delays early. Safe to use from any
/// thread.
public final class Suspension: Sendable {
    private struct State {
        var isSuspended = false
        var count: UInt64 = 0
        var waiting: [UInt64: AsyncSemaphore] = [:]
        var lastNumber: UInt64 = 0

        mutating func add(_ semaphore: AsyncSemaphore) -> UInt64 {
            lastNumber += 1
            waiting[lastNumber] = semaphore
            return lastNumber
        }
    }

    private let state = Lock(State())

    public init() {}

    public var isSuspended: Bool { state.withLock { $0.isSuspended } }

    /// The number of suspensions so far. A changed number shows that a suspension ended some work.
    public var count: UInt64 { state.withLock { $0.count } }

    /// - Returns: False if it was suspended already.
    @discardableResult
    public func suspend() -> Bool {
        state.withLock { state in
            if state.isSuspended { return false }
            state.isSuspended = true
            state.count += 1
            return true
        }
    }

    /// Lets all waiting tasks continue.
    public func resume() {
        let waiting = state.withLock { state in
            state.isSuspended = false
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for semaphore in waiting { semaphore.release() }
    }

    /// Returns at once unless suspended, otherwise after `resume()`. Returns false if the task is cancelled.
    public func wait() async -> Bool {
        let semaphore = AsyncSemaphore(0)
        guard let number = state.withLock({ $0.isSuspended ? $0.add(semaphore) : nil }) else {
            return !Task.isCancelled
        }
        defer { forget(number) }
        return await semaphore.acquire()
    }

    /// Returns after this time, or at `resume()`, when a retry may succeed. The time also passes during a suspension.
    /// Returns false if the task is cancelled.
    public func sleep(for time: Duration) async -> Bool {
        let semaphore = AsyncSemaphore(0)
        let number = state.withLock { $0.add(semaphore) }
        defer { forget(number) }
        let timer = Task {
            guard (try? await Task.sleep(for: time)) != nil else { return }
            semaphore.release()
        }
        defer { timer.cancel() }
        return await semaphore.acquire()
    }

    private func forget(_ number: UInt64) { state.withLock { $0.waiting[number] = nil } }
}
