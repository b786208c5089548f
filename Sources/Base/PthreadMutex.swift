import Glibc

/// A mutex of POSIX threads, at an address that never changes. It knows nothing of what it guards: that is said by the
/// types that have one, `Lock`, `Monitor`, `BlockingMutex` and `Store.Database`, and only they should. Any thread; who
/// locks it unlocks it.
public struct PthreadMutex: ~Copyable, @unchecked Sendable {
    // Safe: POSIX lets any thread lock what was initialised, and the memory goes only with its one owner.
    let pointer: UnsafeMutablePointer<pthread_mutex_t>

    /// - Parameter refusesRelocking: who holds it already is told so, instead of waiting for ever.
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

    /// What tells this mutex from others, for `LockClass`.
    public var address: UnsafeRawPointer { UnsafeRawPointer(pointer) }

    /// Waits until nobody holds it.
    /// - Returns: false when it was made to refuse that the thread that holds it locks it again.
    @discardableResult
    public func lock() -> Bool { pthread_mutex_lock(pointer) == 0 }

    public func unlock() { pthread_mutex_unlock(pointer) }
}
