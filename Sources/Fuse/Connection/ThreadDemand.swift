/// Decides the number of request threads. A thread starts when a request leaves no thread waiting, so a mount used by
/// one program has two.
struct ThreadDemand: Sendable {
    private let limit: Int
    private(set) var threads = 1
    /// Threads that read or are about to.
    private var waiting = 1

    /// Starts with one thread.
    init(limit: Int) { self.limit = limit }

    /// Counts a received request. Returns true if another thread must start; it counts as waiting.
    /// - Parameter isShort: True if the request occupies the thread for negligible time. The kernel sends hundreds of
    ///   FORGET requests at once.
    mutating func received(isShort: Bool) -> Bool {
        if !isShort { waiting -= 1 }
        guard waiting == 0, threads < limit else { return false }
        threads += 1
        waiting += 1
        return true
    }

    /// Counts a completed request, whose thread reads again.
    mutating func performed(isShort: Bool) {
        if !isShort { waiting += 1 }
    }

    /// Called if the thread that `received` requested could not start.
    mutating func failedToBegin() {
        threads -= 1
        waiting -= 1
    }
}
