import Base

/// Runs asynchronous work for the threads that each serve one connection.
enum BlockingTask {
    /// Runs `body` as a task and blocks the calling thread until it is done. Must not be called on the cooperative
    /// pool.
    static func value<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
        let done = Monitor<Value?>(nil)
        Task {
            let value = await body()
            done.change { $0 = value }
        }
        return done.wait { $0 }
    }
}
