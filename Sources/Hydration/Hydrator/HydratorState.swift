import ChatCore

/// What the hydrator's threads share, behind its lock.
struct HydratorState {
    struct Fetch: Hashable {
        var file: FileID
        var generation: HydrationMachine.Generation
        var chunk: Int
    }

    var machine: HydrationMachine
    var contents: [FileID: Hydrator.Content] = [:]
    var waiters: [HydrationMachine.WaiterID: CheckedContinuation<Hydrator.WaitOutcome, Never>] = [:]
    var tasks: [UInt64: Task<Void, Never>] = [:]
    /// The tasks that fetch chunks.
    var fetches: [Fetch: UInt64] = [:]
    var listeners: [UInt64: AsyncStream<HydrationChange>.Continuation] = [:]
    var lastNumber: UInt64 = 0
    var isTicking = false
    /// Somebody is about to note which files are unfinished.
    var isNoting = false
    var isLeaving = false

    mutating func number() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }
}
