import Base
import TestSupport
import Testing

/// Work whose pieces wait for the test and return its planned outcomes.
private final class Workshop: Sendable {
    private struct State {
        var begun: [Int] = []
        var running: [Int: Int] = [:]
        var maxAtOnce = 0
        var outcomes: [Int: [WorkOutcome]] = [:]
        var waiting: [(key: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// Keys whose work does not wait.
        var open: Set<Int> = []
    }

    private let state = Lock(State())

    var begun: [Int] { state.withLock { $0.begun } }
    var maxAtOnce: Int { state.withLock { $0.maxAtOnce } }
    func waiting(_ key: Int) -> Bool { state.withLock { $0.waiting.contains { $0.key == key } } }

    /// Plans the next outcomes of a key; `.idle` afterwards.
    func plan(_ key: Int, _ outcomes: [WorkOutcome]) { state.withLock { $0.outcomes[key] = outcomes } }

    func letPass(_ key: Int) {
        state.withLock { _ = $0.open.insert(key) }
        finish(key)
    }

    /// Ends the piece of work under way.
    func finish(_ key: Int) {
        let continuation = state.withLock { state in
            state.waiting.firstIndex { $0.key == key }.map { state.waiting.remove(at: $0).continuation }
        }
        continuation?.resume()
    }

    func work(_ key: Int) async -> WorkOutcome {
        let passes = state.withLock { state in
            state.begun.append(key)
            state.running[key, default: 0] += 1
            state.maxAtOnce = max(state.maxAtOnce, state.running[key] ?? 0)
            return state.open.contains(key)
        }
        if !passes {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiting.append((key, continuation)) }
            }
        }
        return state.withLock { state in
            state.running[key, default: 0] -= 1
            guard state.outcomes[key]?.isEmpty == false else { return .idle }
            return state.outcomes[key]?.removeFirst() ?? .idle
        }
    }
}

@Suite("Work queues", .timeLimit(.minutes(10)))
struct WorkQueueTests {
    private let workshop: Workshop
    private let queue: WorkQueue<Int>
    /// Longer than any test.
    private static let later = RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max)

    init() {
        let workshop = Workshop()
        self.workshop = workshop
        queue = WorkQueue { await workshop.work($0) }
    }

    private func rests() async throws {
        try await wait(until: "nothing is under way") { queue.rests(until: .now) }
    }

    @Test("one key runs in sequence, different keys concurrently")
    func besides() async throws {
        for _ in 0..<3 { for key in 1...3 { queue.wake(key) } }
        try await wait(until: "all three are under way") { (1...3).allSatisfy { workshop.waiting($0) } }
        #expect(workshop.begun.sorted() == [1, 2, 3])
        for key in 1...3 { workshop.letPass(key) }
        try await rests()
        // Each was woken while running: one more run, regardless of the number.
        #expect(workshop.begun.sorted() == [1, 1, 2, 2, 3, 3] && workshop.maxAtOnce == 1)
    }

    @Test("runs again after more, stops after idle")
    func more() async throws {
        workshop.plan(1, [.more, .more, .idle])
        workshop.letPass(1)
        queue.wake(1)
        try await rests()
        #expect(workshop.begun == [1, 1, 1])
        queue.wake(1)
        try await wait(until: "it was woken again") { workshop.begun.count == 4 }
    }

    @Test("failure delays the next run unless hurried")
    func failure() async throws {
        workshop.plan(1, [.retry(Self.later), .retry(Self.later)])
        workshop.letPass(1)
        queue.wake(1)
        try await rests()
        queue.wake(1)
        #expect(workshop.begun == [1])
        queue.hurry(1)
        try await wait(until: "it was tried again") { workshop.begun.count == 2 }
        try await rests()
        queue.endRetryDelays()
        try await wait(until: "it was tried once more") { workshop.begun.count == 3 }
        try await rests()
        // Idle after success; nothing to hurry.
        queue.endRetryDelays()
        #expect(workshop.begun.count == 3)
    }

    @Test("waiting key rests, wakes and checks again")
    func waitingForOthers() async throws {
        workshop.plan(1, [.later(.seconds(3600)), .later(.milliseconds(1)), .idle])
        workshop.letPass(1)
        queue.wake(1)
        try await rests()
        #expect(workshop.begun == [1] && queue.rests(until: .now + .seconds(7200)))
        // No failure occurred.
        queue.endRetryDelays()
        #expect(queue.rests(until: .now))
        queue.wake(1)
        try await wait(until: "it has looked again") { workshop.begun.count == 3 }
        try await rests()
    }

    @Test("hurry during a failing run retries at once")
    func hurriedMeanwhile() async throws {
        workshop.plan(1, [.retry(Self.later), .idle])
        queue.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        queue.hurry(1)
        queue.wake(1)
        workshop.letPass(1)
        try await wait(until: "it was tried again") { workshop.begun.count == 2 }
        try await rests()
        #expect(workshop.begun == [1, 1])
    }

    @Test("wake during a failing run keeps the delay")
    func wokenMeanwhile() async throws {
        workshop.plan(1, [.retry(Self.later)])
        queue.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        queue.wake(1)
        workshop.letPass(1)
        try await rests()
        #expect(workshop.begun == [1])
        #expect(queue.rests(until: .now + .seconds(60)) && !queue.rests(until: .now + .seconds(7200)))
    }

    @Test("exhausted retry policy ends the work")
    func givenUp() async throws {
        let once = RetryPolicy(first: .nanoseconds(1), maxDelay: .nanoseconds(1), tries: 2)
        workshop.plan(1, Array(repeating: .retry(once), count: 9))
        workshop.letPass(1)
        queue.wake(1)
        try await wait(until: "it was given up") { queue.rests(until: .now + .seconds(86_400)) }
        #expect(workshop.begun == [1, 1])
    }

    @Test("work reported during the last attempt runs")
    func wokenDuringLastAttempt() async throws {
        let once = RetryPolicy(first: .nanoseconds(1), maxDelay: .nanoseconds(1), tries: 1)
        workshop.plan(1, [.retry(once)])
        queue.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        queue.wake(1)
        workshop.letPass(1)
        try await wait(until: "it is idle") { !queue.contains(1) }
        #expect(workshop.begun == [1, 1])
    }

    @Test("rest returns when idle or at the deadline")
    func rest() async throws {
        #expect(await queue.rest(until: .now))
        queue.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        #expect(await !queue.rest(until: .now))
        #expect(await !queue.rest(until: .now + .milliseconds(1)))
        async let rested = queue.rest(until: .now + .seconds(600))
        workshop.letPass(1)
        #expect(await rested)
    }

    @Test("rest beyond a pending retry waits for it")
    func restBeyondATry() async throws {
        workshop.plan(1, [.retry(Self.later)])
        workshop.letPass(1)
        queue.wake(1)
        try await rests()
        #expect(await queue.rest(until: .now + .seconds(60)))
        async let rested = queue.rest(until: .now + .seconds(7200))
        queue.hurry(1)
        #expect(await rested)
    }

    @Test("stop starts no more work")
    func stopped() async throws {
        workshop.plan(1, [.more, .more])
        queue.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        queue.stop()
        queue.wake(2)
        queue.hurry(2)
        workshop.letPass(1)
        try await rests()
        queue.wake(1)
        #expect(workshop.begun == [1])
    }

    @Test("keys woken before the beginning run then")
    func early() async throws {
        let queue = WorkQueue<Int>()
        for key in [1, 1, 2] { queue.wake(key) }
        for key in 1...2 { workshop.letPass(key) }
        queue.begin { await workshop.work($0) }
        try await wait(until: "both have run") { !queue.contains(1) && !queue.contains(2) }
        #expect(workshop.begun.sorted() == [1, 2])
    }

    @Test("ending a delay has no effect on running work")
    func endedDelay() async throws {
        workshop.plan(1, [.retry(Self.later), .retry(Self.later)])
        queue.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        queue.endRetryDelay(of: 1)
        workshop.letPass(1)
        try await rests()
        #expect(workshop.begun == [1])
        queue.endRetryDelay(of: 1)
        queue.endRetryDelay(of: 2)
        try await wait(until: "it was tried again") { workshop.begun.count == 2 }
        try await rests()
        #expect(workshop.begun == [1, 1] && queue.contains(1) && !queue.contains(2))
    }

    // MARK: - Time

    @Test("retry delays double up to the limit, until success")
    func growingDelays() async throws {
        let clock = ManualDelayClock()
        let queue = WorkQueue(clock: clock) { await workshop.work($0) }
        let policy = RetryPolicy(first: .seconds(16), maxDelay: .seconds(32), tries: .max)
        workshop.plan(1, [.retry(policy), .retry(policy), .retry(policy), .more, .retry(policy)])
        workshop.letPass(1)
        queue.wake(1)
        for seconds in [16, 32, 32, 16] {
            let deadline = try await wait(for: "a delay") { clock.deadlines.first { $0 > clock.now } }
            let delay = clock.now.duration(to: deadline)
            #expect(delay <= .seconds(seconds) && delay >= Duration.seconds(seconds) * 0.75)
            let count = workshop.begun.count
            clock.advance(to: deadline)
            try await wait(until: "it was tried again") { workshop.begun.count > count }
        }
        try await wait(until: "it is idle") { !queue.contains(1) }
        #expect(workshop.begun.count == 6)
    }

    @Test("work without elements looks again at its time")
    func laterWork() async throws {
        let clock = ManualDelayClock()
        let queue = WorkQueue(clock: clock) { await workshop.work($0) }
        workshop.plan(1, [.later(.seconds(60))])
        workshop.letPass(1)
        queue.wake(1)
        try await wait(until: "it waits") { clock.deadlines == [clock.now + .seconds(60)] }
        #expect(workshop.begun == [1])
        clock.advance(to: clock.now + .seconds(60))
        try await wait(until: "it looked again") { !queue.contains(1) }
        #expect(workshop.begun == [1, 1])
    }

    // MARK: - Cancellation and end

    /// A queue whose work waits for its cancellation, and counts runs and cancellations.
    private func endless(_ counts: Lock<(begun: Int, cancelled: Int)>) -> WorkQueue<Int> {
        WorkQueue { _ in
            counts.withLock { $0.begun += 1 }
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
            counts.withLock { $0.cancelled += 1 }
            return .retry(Self.later)
        }
    }

    @Test("cancelled work ends, later work runs")
    func cancelled() async throws {
        let counts = Lock((begun: 0, cancelled: 0))
        let queue = endless(counts)
        queue.wake(1)
        queue.wake(2)
        try await wait(until: "both run") { counts.withLock { $0.begun } == 2 }
        queue.wake(1)
        await queue.cancel(1)
        // The wake before the cancellation was dropped, and the failure caused no delay.
        #expect(counts.withLock { $0 == (2, 1) } && !queue.contains(1) && queue.contains(2))
        queue.wake(1)
        try await wait(until: "it runs again") { counts.withLock { $0.begun } == 3 }
        await queue.close()
        #expect(counts.withLock { $0 == (3, 3) })
    }

    @Test("work reported during a cancellation runs uncancelled")
    func wokenAfterCancellation() async throws {
        let (isCancelled, mayEnd, ends) = (OneTimeEvent(), AsyncSemaphore(0), Lock([Bool]()))
        let queue = WorkQueue<Int> { _ in
            await withTaskCancellationHandler {
                // Not cancelled with this task.
                await Task { _ = await mayEnd.acquire() }.value
            } onCancel: {
                isCancelled.happen()
            }
            ends.withLock { $0.append(Task.isCancelled) }
            return .idle
        }
        queue.wake(1)
        let cancelling = Task { await queue.cancel(1) }
        await isCancelled.wait()
        queue.wake(1)
        for _ in 0..<2 { mayEnd.release() }
        await cancelling.value
        try await wait(until: "it ran again") { ends.withLock { $0.count } == 2 }
        #expect(ends.withLock { $0 } == [true, false])
    }

    @Test("failure at the moment of a cancellation causes no delay")
    func failsWhenCancelled() async throws {
        let state = Lock((begun: 0, mayEnd: false))
        let queue = WorkQueue<Int> { _ in
            state.withLock { $0.begun += 1 }
            while !state.withLock({ $0.mayEnd }) { await Task.yield() }
            return .retry(Self.later)
        }
        for round in 1...300 {
            state.withLock { $0.mayEnd = false }
            queue.wake(1)
            try await wait(until: "it runs") { state.withLock { $0.begun } == round }
            state.withLock { $0.mayEnd = true }
            await queue.cancel(1)
            try #require(!queue.contains(1))
        }
    }

    @Test("cancellation ends a delay")
    func cancelledDelay() async throws {
        let clock = ManualDelayClock()
        let queue = WorkQueue(clock: clock) { await workshop.work($0) }
        workshop.plan(1, [.retry(Self.later)])
        workshop.letPass(1)
        queue.wake(1)
        try await wait(until: "it is delayed") { !clock.deadlines.isEmpty }
        await queue.cancel(1)
        try await wait(until: "the delay has ended") { clock.deadlines.isEmpty }
        #expect(!queue.contains(1) && workshop.begun == [1])
    }

    @Test("draining finishes running keys and starts no other")
    func drained() async throws {
        workshop.plan(1, [.more, .retry(Self.later)])
        workshop.plan(2, [.retry(Self.later)])
        for key in 2...3 { workshop.letPass(key) }
        queue.wake(1)
        queue.wake(2)
        try await wait(until: "both have begun") { workshop.waiting(1) && workshop.begun.count == 2 }
        let draining = Task { await queue.drain() }
        try await wait(until: "no other begins") {
            queue.hurry(3)
            return !queue.contains(3)
        }
        workshop.letPass(1)
        await draining.value
        queue.hurry(2)
        #expect(workshop.begun.filter { $0 == 1 }.count == 2)
        #expect(!(1...2).contains { queue.contains($0) })
    }
}
