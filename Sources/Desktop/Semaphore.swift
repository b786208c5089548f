import Glibc

/// Lets a dedicated thread wait for a task. Must not be waited for on the cooperative pool.
final class Semaphore: @unchecked Sendable {
    // Safe: sem_t is thread-safe; it is allocated once and never moves.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0 {} }
}
