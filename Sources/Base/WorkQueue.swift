/// Work by key. The work of one key runs in sequence, different keys run concurrently. Failed work is repeated after
/// growing delays. An idle key uses no memory. Thread-safe.
///
/// The queue holds keys and no elements: the work of a key takes its next element from the owner, often from a
/// database, so that a new process continues it.
public final class WorkQueue<Key: Hashable & Sendable>: Sendable {
    /// Performs one piece of work for a key.
    public typealias Work = @Sendable (Key) async -> WorkOutcome

    private struct Lane {
        /// Nil between runs.
        var run: Task<Void, Never>?
        /// Whether `cancel` ends the run. Its outcome does not count.
        var isCancelled = false
        /// Woken while running: new work may have come after the check.
        var isWoken = false
        /// Whether to skip the delay after a failure.
        var isHurried = false
        var failures = 0
        var delay: Delay?

        /// Whether no work starts or retries before `end`.
        func rests(until end: ContinuousClock.Instant) -> Bool {
            run == nil && delay.map { !$0.isAfterFailure || $0.end >= end } ?? true
        }
    }

    /// The time before the next run.
    private struct Delay {
        let end: ContinuousClock.Instant
        /// False if it waits for lack of work.
        let isAfterFailure: Bool
        let timer: Task<Void, Never>
    }

    private struct Waiter {
        let number: UInt64
        let end: ContinuousClock.Instant
        let continuation: CheckedContinuation<Bool, Never>
    }

    private enum Ending {
        case afterPresentPieces
        case afterPresentRuns
    }

    private struct State {
        var work: Work?
        var lanes: [Key: Lane] = [:]
        var ending: Ending?
        var waiters: [Waiter] = []
        var lastWaiter: UInt64 = 0

        func rests(until end: ContinuousClock.Instant) -> Bool {
            lanes.values.allSatisfy { $0.rests(until: end) }
        }

        mutating func takeSatisfied() -> [Waiter] {
            guard !waiters.isEmpty else { return [] }
            let satisfied = waiters.filter { rests(until: $0.end) }
            waiters.removeAll { waiter in satisfied.contains { $0.number == waiter.number } }
            return satisfied
        }
    }

    private let state = Lock(State())
    private let clock: any DelayClock

    /// Nothing runs before `begin`.
    public init(clock: any DelayClock = ContinuousClock()) { self.clock = clock }

    public convenience init(clock: any DelayClock = ContinuousClock(), _ work: @escaping Work) {
        self.init(clock: clock)
        begin(work)
    }

    /// Starts the work, also of keys that were woken before. Called once.
    public func begin(_ work: @escaping Work) {
        let woken = state.withLock { state in
            assert(state.work == nil, "the work has begun")
            state.work = work
            defer { state.lanes = [:] }
            return Array(state.lanes.keys)
        }
        for key in woken { wake(key) }
    }

    // MARK: - Waking

    /// Reports new work. A key in a retry delay keeps waiting.
    public func wake(_ key: Key) { wake(key, hurries: false) }

    /// Reports new work and ends a retry delay, or skips the next one if the work is running.
    public func hurry(_ key: Key) { wake(key, hurries: true) }

    /// Ends a retry delay. Has no effect on running work.
    public func endRetryDelay(of key: Key) {
        let delay = state.withLock { $0.lanes[key]?.delay }
        if let delay, delay.isAfterFailure { wake(key, hurries: true, after: delay.end) }
    }

    public func endRetryDelays() {
        for key in state.withLock({ Array($0.lanes.keys) }) { endRetryDelay(of: key) }
    }

    /// - Parameter end: If not nil, only the delay until this time ends.
    private func wake(_ key: Key, hurries: Bool, after end: ContinuousClock.Instant? = nil) {
        let timer = state.withLock { state -> Task<Void, Never>? in
            var lane = state.lanes[key] ?? Lane()
            guard state.ending == nil, end == nil || lane.delay?.end == end else { return nil }
            defer { state.lanes[key] = lane }
            guard lane.run == nil, let work = state.work else {
                lane.isWoken = true
                lane.isHurried = lane.isHurried || hurries
                return nil
            }
            let delay = lane.delay
            if delay?.isAfterFailure == true, !hurries { return nil }
            lane.delay = nil
            lane.run = Task { await self.run(key, work) }
            return delay?.timer
        }
        timer?.cancel()
    }

    // MARK: - Runs

    private func run(_ key: Key, _ work: @escaping Work) async {
        while true {
            let outcome = await work(key)
            guard goesOn(with: key, after: outcome, work) else { return }
        }
    }

    /// Returns whether this task has more work. A cancelled one leaves it to another.
    private func goesOn(with key: Key, after outcome: WorkOutcome, _ work: @escaping Work) -> Bool {
        change { state in
            var lane = state.lanes[key] ?? Lane()
            // Not `Task.isCancelled`: that is set a little later.
            let isCancelled = lane.isCancelled
            lane.isCancelled = false
            let hasMore = hasMore(&lane, isCancelled ? .idle : outcome, key, state.ending)
            if !hasMore {
                lane.run = nil
            } else if isCancelled {
                lane.run = Task { await self.run(key, work) }
            }
            state.lanes[key] = lane.run == nil && lane.delay == nil ? nil : lane
            return hasMore && !isCancelled
        }
    }

    /// Changes the state, and resumes waiters that need not wait any more.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, satisfied) = state.withLock { (body(&$0), $0.takeSatisfied()) }
        for waiter in satisfied { waiter.continuation.resume(returning: true) }
        return result
    }

    private func hasMore(_ lane: inout Lane, _ outcome: WorkOutcome, _ key: Key, _ ending: Ending?) -> Bool {
        let (wasWoken, wasHurried) = (lane.isWoken, lane.isHurried)
        (lane.isWoken, lane.isHurried) = (false, false)
        if ending == .afterPresentPieces { return false }
        switch outcome {
        case .more:
            lane.failures = 0
            return true
        case .idle:
            lane.failures = 0
            return wasWoken
        case .retry(let policy):
            lane.failures = min(lane.failures + 1, 1000)
            if wasHurried || ending != nil { return wasHurried }
            guard let time = policy.delay(beforeTry: lane.failures + 1) else {
                lane.failures = 0
                return wasWoken
            }
            lane.delay = delay(of: key, time, isAfterFailure: true)
            return false
        case .later(let time):
            lane.failures = 0
            guard !wasWoken, ending == nil else { return wasWoken }
            lane.delay = delay(of: key, time, isAfterFailure: false)
            return false
        }
    }

    private func delay(of key: Key, _ time: Duration, isAfterFailure: Bool) -> Delay {
        let end = clock.now + time
        let timer = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: end, tolerance: nil)) != nil else { return }
            self?.wake(key, hurries: true, after: end)
        }
        return Delay(end: end, isAfterFailure: isAfterFailure, timer: timer)
    }

    // MARK: - Rest

    /// Returns true once no work is running and no retry is due before `end`; false at `end`.
    public func rest(until end: ContinuousClock.Instant) async -> Bool {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: end, tolerance: nil)) != nil else { return }
            self?.giveUp(number)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let rests: Bool? = state.withLock { state in
                if state.rests(until: end) { return true }
                if end <= clock.now { return false }
                state.waiters.append(Waiter(number: number, end: end, continuation: continuation))
                return nil
            }
            if let rests { continuation.resume(returning: rests) }
        }
    }

    public func rests(until end: ContinuousClock.Instant) -> Bool { state.withLock { $0.rests(until: end) } }

    private func giveUp(_ number: UInt64) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
    }

    /// Whether work of the key is running or delayed.
    public func contains(_ key: Key) -> Bool { state.withLock { $0.lanes[key] != nil } }

    // MARK: - Ending

    /// Cancels the running work of a key, ends its delay, and returns once it has ended. Only work reported afterwards
    /// runs. Do not call it from that work.
    public func cancel(_ key: Key) async {
        let lane = change { state in
            let lane = state.lanes.removeValue(forKey: key)
            if let run = lane?.run { state.lanes[key] = Lane(run: run, isCancelled: true) }
            return lane
        }
        lane?.delay?.timer.cancel()
        lane?.run?.cancel()
        await lane?.run?.value
    }

    /// Starts no more work. Does not wait for running work.
    public func stop() { _ = end(.afterPresentPieces) }

    /// Starts no more work, cancels running work, and returns once it has ended.
    public func close() async {
        let runs = end(.afterPresentPieces)
        for run in runs { run.cancel() }
        for run in runs { await run.value }
    }

    /// Starts no other key's work, and returns once running keys have no more work now.
    public func drain() async { for run in end(.afterPresentRuns) { await run.value } }

    private func end(_ ending: Ending) -> [Task<Void, Never>] {
        let lanes = change { state in
            state.ending = ending
            defer { state.lanes = state.lanes.filter { $0.value.run != nil } }
            return Array(state.lanes.values)
        }
        for lane in lanes { lane.delay?.timer.cancel() }
        return lanes.compactMap(\.run)
    }
}
