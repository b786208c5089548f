import Base

/// Runs asynchronous work for the threads that each serve one connection.
enum BlockingTask {
    /// Runs `body` as a task and blocks the calling thread until it is done. Must not be called on the cooperative
    /// pool.
    static func value<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
        let done = Lock<Value?>(nil)
        let semaphore = Semaphore()
        Task {
            let value = await body()
            done.withLock { $0 = value }
            semaphore.signal()
        }
        semaphore.wait()
        guard let value = done.withLock({ $0 }) else { preconditionFailure("signalled without a value") }
        return value
    }
}
