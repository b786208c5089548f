/// How many threads serve a connection: one more begins when a request leaves none of them waiting for the next, so
/// a mount that one program uses has two.
struct ThreadDemand: Sendable {
    private let limit: Int
    private(set) var threads = 1
    /// Those that read, or are about to.
    private var waiting = 1

    /// One thread is there from the beginning.
    init(limit: Int) { self.limit = limit }

    /// A thread has read a request. True when one more thread has to begin, which then counts as waiting.
    /// - Parameter isShort: it keeps the thread for no time worth mentioning. The kernel sends hundreds of those at
    ///   once when it forgets.
    mutating func received(isShort: Bool) -> Bool {
        if !isShort { waiting -= 1 }
        guard waiting == 0, threads < limit else { return false }
        threads += 1
        waiting += 1
        return true
    }

    /// The same thread is about to read again.
    mutating func performed(isShort: Bool) {
        if !isShort { waiting += 1 }
    }

    /// The thread that `received` asked for could not be had.
    mutating func failedToBegin() {
        threads -= 1
        waiting -= 1
    }
}
