import Base
import Glibc

/// Many readers or one writer. Unlike `Base.Lock` it may be held during file operations, because it protects a single
/// file.
final class ReadWriteMutex: @unchecked Sendable {
    // Safe: only pthread calls access the lock.
    private let lock: UnsafeMutablePointer<pthread_rwlock_t>

    private let lockClass: LockClass

    init(rank: MutexRank, file: StaticString = #fileID, line: UInt = #line) {
        lockClass = LockClass(rank, file: file, line: line)
        lock = .allocate(capacity: 1)
        pthread_rwlock_init(lock, nil)
    }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    func reading<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lockClass.willLock(lock)
        pthread_rwlock_rdlock(lock)
        defer { unlock() }
        return try body()
    }

    func writing<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lockClass.willLock(lock)
        pthread_rwlock_wrlock(lock)
        defer { unlock() }
        return try body()
    }

    private func unlock() {
        pthread_rwlock_unlock(lock)
        lockClass.didUnlock(lock)
    }
}
