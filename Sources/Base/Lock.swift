/// State behind a mutex. The only way in is `withLock`, so no access can be forgotten.
///
/// A pthread mutex rather than `Synchronization.Mutex`, whose futex the thread sanitizer does not
/// know (`docs/contributing.md`). `State` is never a function itself, but a struct that holds it: Swift
/// wraps a bare one anew at every access, and calling it goes through all wrappings. Not recursive; never
/// hold it over I/O, an `await` or a callback. Debug builds see to it that mutexes are locked by
/// rising rank.
public final class Lock<State>: @unchecked Sendable {
    // Safe: the state is touched only between lock and unlock of `mutex`. It has a byte beside it: one without
    // bytes would else have the address of the object, and the thread sanitizer would take that for a race.
    private let mutex = PthreadMutex()
    private var held: (state: State, UInt8)
    private let lockClass: LockClass

    /// - Parameter rank: one for memory.
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
