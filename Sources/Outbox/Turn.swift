import Glibc

/// One operation of a draft after the other. Unlike `Base.Lock` it is meant to be held over file and
/// journal input and output, so only threads that may block take it, and it guards no memory: what a
/// draft knows about itself stays readable meanwhile. Never held over an `await`.
///
/// Order: the turn of names (`Outbox`), then turns of drafts by rising id, then any `Base.Lock`.
final class Turn: @unchecked Sendable {
    // Safe: the mutex is made once and never moves.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func take() { pthread_mutex_lock(mutex) }
    func giveBack() { pthread_mutex_unlock(mutex) }

    func with<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        take()
        defer { giveBack() }
        return try body()
    }
}
