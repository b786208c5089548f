import Glibc

extension ThreadPool {
    /// Does two things at once: `body` here, `other` on one of the threads. Where none is free before `body`
    /// is over, `other` is done here after it: nobody ever waits for work that has not begun. Both are over
    /// when this returns; the error of `body` goes before that of `other`. Blocks.
    public func doing(
        _ other: @escaping @Sendable () throws -> Void, beside body: () throws -> Void
    ) throws {
        let offer = Offer(other)
        submit { offer.takeUp() }
        let outcome = Result(catching: body)
        offer.takeUp()
        let otherOutcome = offer.wait()
        try outcome.get()
        try otherOutcome.get()
    }
}

/// Work that the first who comes does, once.
private final class Offer: @unchecked Sendable {
    // Safe: everything is touched only while `mutex` is held.
    private var work: (@Sendable () throws -> Void)?
    private var outcome: Result<Void, any Error>?
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    init(_ work: @escaping @Sendable () throws -> Void) {
        self.work = work
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Does the work, if nobody has begun with it.
    func takeUp() {
        pthread_mutex_lock(mutex)
        let found = work
        work = nil
        pthread_mutex_unlock(mutex)
        guard let found else { return }
        let result = Result { try found() }
        pthread_mutex_lock(mutex)
        outcome = result
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// How it went, when it is over.
    func wait() -> Result<Void, any Error> {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let outcome { return outcome }
            pthread_cond_wait(condition, mutex)
        }
    }
}
