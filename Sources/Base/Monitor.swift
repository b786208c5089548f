import Glibc

/// State behind a mutex with a condition. Waiting blocks, so use it only from own threads.
public final class Monitor<State>: @unchecked Sendable {
    // Safe: `state` is accessed only while `mutex` is held. It is behind the pointers, see `Lock`.
    private let mutex = PthreadMutex()
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State
    private let lockClass: LockClass

    /// - Parameter rank: A rank for memory.
    public init(
        _ state: State, rank: MutexRank = .leaf, file: StaticString = #fileID, line: UInt = #line
    ) {
        lockClass = LockClass(rank, file: file, line: line)
        self.state = state
        condition = .allocate(capacity: 1)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    /// Changes the state and wakes one waiting thread.
    public func change<Result>(_ body: (inout State) -> Result) -> Result {
        lock()
        defer { unlock() }
        pthread_cond_signal(condition)
        return body(&state)
    }

    /// Waits until `body` returns a value. Blocks.
    @discardableResult
    public func wait<Result>(for body: (inout State) -> Result?) -> Result {
        lock()
        defer { unlock() }
        while true {
            if let result = body(&state) { return result }
            pthread_cond_wait(condition, mutex.pointer)
        }
    }

    private func lock() {
        lockClass.willLock(mutex.address)
        mutex.lock()
    }

    private func unlock() {
        mutex.unlock()
        lockClass.didUnlock(mutex.address)
    }
}
