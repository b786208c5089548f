/// Tasks that `close` cancels and awaits. Thread-safe.
public final class TaskSet: Sendable {
    private struct State {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var lastNumber: UInt64 = 0
        var isClosed = false
    }

    private let state = Lock(State())

    public init() {}

    /// Returns nil after `close`.
    @discardableResult
    public func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never>? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastNumber += 1
            let number = state.lastNumber
            let task = Task {
                await work()
                self.state.withLock { $0.tasks[number] = nil }
            }
            state.tasks[number] = task
            return task
        }
    }

    /// Cancels all tasks, waits for them, and starts no more.
    public func close() async {
        let tasks = state.withLock { state in
            state.isClosed = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
