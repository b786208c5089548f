/// State behind a mutex, accessible only through `withLock`.
///
/// A pthread mutex, because the thread sanitizer does not know the futex of `Synchronization.Mutex`. `State` is never a
/// bare function, but a struct that holds it: Swift wraps a bare one again at every access, and a call passes all
/// wrappers. Not recursive; never hold it over I/O, an `await` or a callback. Debug builds enforce locking by rising
/// rank.
public final class Lock<State>: @unchecked Sendable {
    // Safe: the state is accessed only between lock and unlock of `mutex`. It has an extra byte: an empty state would
    // have the object's address, which the thread sanitizer would report as a race.
    private let mutex = PthreadMutex()
    private var held: (state: State, UInt8)
    private let lockClass: LockClass

    /// - Parameter rank: A rank for memory.
    public init(
        _ state: State, rank: MutexRank = .leaf, file: StaticString = #fileID, line: UInt = #line
    ) {
        lockClass = LockClass(rank, file: file, line: line)
        held = (state, 0)
    }

    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lockClass.willLock(mutex.address)
        mutex.lock()
        defer {
            mutex.unlock()
            lockClass.didUnlock(mutex.address)
        }
        return try body(&held.state)
    }
}
