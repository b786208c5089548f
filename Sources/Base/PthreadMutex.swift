import Glibc

/// A POSIX mutex at a constant address. Use it only through `Lock`, `Monitor`, `BlockingMutex` and `Store.Database`,
/// whose comments name the guarded state. Safe to use from any thread; the locking thread unlocks it.
public struct PthreadMutex: ~Copyable, @unchecked Sendable {
    // Safe: POSIX permits any thread to lock it, and its only owner frees the memory.
    let pointer: UnsafeMutablePointer<pthread_mutex_t>

    /// - Parameter refusesRelocking: If true, locking fails instead of deadlocking when the thread already holds the
    ///   mutex.
    public init(refusesRelocking: Bool = false) {
        pointer = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        if refusesRelocking { pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ERRORCHECK)) }
        pthread_mutex_init(pointer, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(pointer)
        pointer.deallocate()
    }

    /// Identifies the mutex for `LockClass`.
    public var address: UnsafeRawPointer { UnsafeRawPointer(pointer) }

    /// Waits until the mutex is free.
    /// - Returns: False if this thread holds it and it refuses relocking.
    @discardableResult
    public func lock() -> Bool { pthread_mutex_lock(pointer) == 0 }

    public func unlock() { pthread_mutex_unlock(pointer) }
}
