/// Serialises operations. Unlike `Lock` it may be held during file and database I/O, so only threads that may block
/// lock it, and it guards no memory: short `Lock`s do. Never held over an `await`; not recursive. Debug builds enforce
/// locking by rising rank.
public final class BlockingMutex: Sendable {
    private let mutex = PthreadMutex()
    private let lockClass: LockClass
    private let number: Int64?

    /// - Parameters:
    ///   - rank: A rank for I/O.
    ///   - number: Several mutexes of one rank are locked by rising number.
    public init(
        rank: MutexRank = .operation, number: Int64? = nil, file: StaticString = #fileID, line: UInt = #line
    ) {
        self.number = number
        lockClass = LockClass(rank, file: file, line: line)
    }

    public func lock() {
        lockClass.willLock(mutex.address, number: number)
        mutex.lock()
    }

    public func unlock() {
        mutex.unlock()
        lockClass.didUnlock(mutex.address)
    }

    public func withLock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
