import Glibc

/// One operation after the other. Unlike `Lock` it is meant to be held over file and database input and output, so
/// only threads that may block lock it, and it guards no memory: that has a `Lock` of its own, which stays short.
/// Never held over an `await`; not recursive. Debug builds look that several are always locked in
/// one order.
public final class BlockingMutex: @unchecked Sendable {
    // Safe: the mutex is made once and never moves.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let lockClass: LockClass
    private let rank: Int64?

    /// - Parameter rank: where one thread may hold several that are made in one place, it locks them by rising rank.
    public init(rank: Int64? = nil, file: StaticString = #fileID, line: UInt = #line) {
        self.rank = rank
        lockClass = LockClass(.inputOutput, file: file, line: line)
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    public func lock() {
        lockClass.willLock(mutex, rank: rank)
        pthread_mutex_lock(mutex)
    }

    public func unlock() {
        pthread_mutex_unlock(mutex)
        lockClass.didUnlock(mutex)
    }

    public func withLock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
