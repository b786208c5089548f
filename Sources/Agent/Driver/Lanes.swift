import Base

/// Keyed work queues. Work of one key runs in sequence, different keys run concurrently. An idle lane uses no
/// memory.
final class Lanes<Key: Hashable & Sendable>: Sendable {
    /// Result of one piece of work.
    enum Outcome: Sendable {
        case idle
        /// No work now. Runs again after this time unless woken earlier.
        case later(Duration)
        /// More work may follow at once.
        case more
        /// Failed: runs again after the policy's growing delay.
        case retry(RetryPolicy)
    }

    private struct Lane {
        var isRunning = false
        /// Woken while running: new work may have come after the check.
        var isWoken = false
        /// Whether to skip the delay after a failure.
        var isHurried = false
        var failures = 0
        var sleeper: Task<Void, Never>?
        /// End of the delay.
        var wakes: ContinuousClock.Instant?
        /// Whether it sleeps for lack of work rather than after a failure.
        var isIdle = false

        /// Whether no work starts or retries before `end`.
        func rests(until end: ContinuousClock.Instant) -> Bool {
            !isRunning && (sleeper == nil || isIdle || wakes.map { $0 >= end } ?? true)
        }
    }

    private struct Waiter {
        let number: UInt64
        let end: ContinuousClock.Instant
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var lanes: [Key: Lane] = [:]
        var isStopped = false
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
    private let work: @Sendable (Key) async -> Outcome

    /// - Parameter work: performs one piece of work for a key.
    init(_ work: @escaping @Sendable (Key) async -> Outcome) { self.work = work }

    /// Reports new work. A lane in a retry delay keeps waiting.
    func wake(_ key: Key) { wake(key, hurries: false) }

    /// Reports new work and ends a retry delay.
    func hurry(_ key: Key) { wake(key, hurries: true) }

    /// Ends all retry delays.
    func endRetryDelays() {
        let waiting = state.withLock { state in
            state.lanes.filter { $0.value.sleeper != nil && !$0.value.isIdle }.map(\.key)
        }
        for key in waiting { hurry(key) }
    }

    private func wake(_ key: Key, hurries: Bool) {
        let starts = state.withLock { state -> Bool in
            guard !state.isStopped else { return false }
            var lane = state.lanes[key] ?? Lane()
            defer { state.lanes[key] = lane }
            if lane.isRunning {
                lane.isWoken = true
                lane.isHurried = lane.isHurried || hurries
                return false
            }
            if lane.sleeper != nil, !lane.isIdle, !hurries { return false }
            lane.sleeper?.cancel()
            lane.sleeper = nil
            lane.isIdle = false
            lane.isRunning = true
            return true
        }
        if starts { Task { await run(key) } }
    }

    private func run(_ key: Key) async {
        while true {
            let outcome = await work(key)
            if finish(key, outcome) { return }
        }
    }

    /// Returns whether the lane has no more work now.
    private func finish(_ key: Key, _ outcome: Outcome) -> Bool {
        let (isOver, satisfied) = state.withLock { state in
            var lane = state.lanes[key] ?? Lane()
            lane.isRunning = goesOn(&lane, outcome, isStopped: state.isStopped, key)
            state.lanes[key] = lane.isRunning || lane.sleeper != nil ? lane : nil
            return (!lane.isRunning, state.takeSatisfied())
        }
        for waiter in satisfied { waiter.continuation.resume(returning: true) }
        return isOver
    }

    /// Returns true once no work is running and no retry is due before `end`; false at `end`.
    func rest(until end: ContinuousClock.Instant) async -> Bool {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = Task { [weak self] in
            guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return }
            self?.giveUp(number)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let rests: Bool? = state.withLock { state in
                if state.rests(until: end) { return true }
                if end <= .now { return false }
                state.waiters.append(Waiter(number: number, end: end, continuation: continuation))
                return nil
            }
            if let rests { continuation.resume(returning: rests) }
        }
    }

    func rests(until end: ContinuousClock.Instant) -> Bool { state.withLock { $0.rests(until: end) } }

    private func giveUp(_ number: UInt64) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
    }

    private func goesOn(_ lane: inout Lane, _ outcome: Outcome, isStopped: Bool, _ key: Key) -> Bool {
        let (wasWoken, wasHurried) = (lane.isWoken, lane.isHurried)
        lane.isWoken = false
        lane.isHurried = false
        guard !isStopped else { return false }
        switch outcome {
        case .more:
            lane.failures = 0
            return true
        case .idle:
            lane.failures = 0
            return wasWoken
        case .retry(let policy):
            lane.failures = min(lane.failures + 1, 1000)
            guard !wasHurried, let delay = policy.delay(beforeTry: lane.failures + 1) else {
                return wasHurried
            }
            sleep(&lane, for: delay, key)
            return false
        case .later(let delay):
            lane.failures = 0
            guard !wasWoken else { return true }
            lane.isIdle = true
            sleep(&lane, for: delay, key)
            return false
        }
    }

    private func sleep(_ lane: inout Lane, for delay: Duration, _ key: Key) {
        lane.wakes = .now + delay
        lane.sleeper = Task { [weak self] in
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            self?.hurry(key)
        }
    }

    /// Starts no more work. Does not wait for running work.
    func stop() {
        let sleepers = state.withLock { state in
            state.isStopped = true
            return state.lanes.values.compactMap(\.sleeper)
        }
        for sleeper in sleepers { sleeper.cancel() }
    }
}
