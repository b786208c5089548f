import Glibc

/// One operation after the other. Unlike `Lock` it is meant to be held over file and database input and output, so
/// only threads that may block lock it, and it guards no memory: that has a `Lock` of its own, which stays short.
/// Never held over an `await`; not recursive. Who locks several does so in an order that is written down.
public final class BlockingMutex: @unchecked Sendable {
    // Safe: the mutex is made once and never moves.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    public init() {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    public func lock() { pthread_mutex_lock(mutex) }
    public func unlock() { pthread_mutex_unlock(mutex) }

    public func withLock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
