/// One operation after the other. Unlike `Lock` it is meant to be held over file and database input and output, so
/// only threads that may block lock it, and it guards no memory: that has a `Lock` of its own, which stays short.
/// Never held over an `await`; not recursive. Debug builds see to it that several are locked by rising
/// rank.
public final class BlockingMutex: Sendable {
    private let mutex = PthreadMutex()
    private let lockClass: LockClass
    private let number: Int64?

    /// - Parameters:
    ///   - rank: one for input and output.
    ///   - number: where a thread may hold several of one rank, it locks them by rising number.
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
