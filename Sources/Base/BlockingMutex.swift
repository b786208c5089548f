/// One operation after the other. Unlike `Lock` it is meant to be held over file and database input and output, so
/// only threads that may block lock it, and it guards no memory: that has a `Lock` of its own, which stays short.
/// Never held over an `await`; not recursive. Debug builds look that several are always locked in
/// one order.
public final class BlockingMutex: Sendable {
    private let mutex = PthreadMutex()
    private let lockClass: LockClass
    private let rank: Int64?

    /// - Parameter rank: where one thread may hold several that are made in one place, it locks them by rising rank.
    public init(rank: Int64? = nil, file: StaticString = #fileID, line: UInt = #line) {
        self.rank = rank
        lockClass = LockClass(.inputOutput, file: file, line: line)
    }

    public func lock() {
        lockClass.willLock(mutex.address, rank: rank)
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
