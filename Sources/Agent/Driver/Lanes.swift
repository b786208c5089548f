import Base

/// Work in lanes: of one key one thing after another, of different keys beside each other. A lane goes while there is
/// something to be done, and takes no memory afterwards.
final class Lanes<Key: Hashable & Sendable>: Sendable {
    /// What one piece of work came to.
    enum Outcome: Sendable {
        case idle
        /// Nothing can be done. When nobody wakes it before, it looks again after this time.
        case later(Duration)
        /// There may be more to be done.
        case more
        /// It did not work: later, with growing delays.
        case retry(RetryPolicy)
    }

    private struct Lane {
        var isRunning = false
        /// Woken while it ran: what there is to be done may have come after it looked.
        var isWoken = false
        /// Whether it is not to wait after a failure.
        var isHurried = false
        var failures = 0
        var sleeper: Task<Void, Never>?
        /// When that ends.
        var wakes: ContinuousClock.Instant?
        /// Whether it sleeps because nothing can be done, and not because something has failed.
        var isIdle = false

        /// Whether nothing happens here before `end`.
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

    /// - Parameter work: one piece of it.
    init(_ work: @escaping @Sendable (Key) async -> Outcome) { self.work = work }

    /// There is something to be done. A lane that waits after a failure goes on waiting.
    func wake(_ key: Key) { wake(key, hurries: false) }

    /// The same; a lane that waits tries again at once.
    func hurry(_ key: Key) { wake(key, hurries: true) }

    /// All lanes that wait try again at once.
    func hurryAll() {
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

    /// Whether the lane is at its end for now.
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

    /// Returns true when nothing is under way, and nothing is tried again before `end`; false at `end`.
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

    /// Begins nothing any more. Work that goes on is not waited for.
    func stop() {
        let sleepers = state.withLock { state in
            state.isStopped = true
            return state.lanes.values.compactMap(\.sleeper)
        }
        for sleeper in sleepers { sleeper.cancel() }
    }
}
