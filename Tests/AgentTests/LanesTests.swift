import Base
import TestSupport
import Testing

@testable import Agent

/// Work whose pieces wait for the test and return its planned outcomes.
private final class Workshop: Sendable {
    private struct State {
        var begun: [Int] = []
        var running: [Int: Int] = [:]
        var maxAtOnce = 0
        var outcomes: [Int: [Lanes<Int>.Outcome]] = [:]
        var waiting: [(key: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// Keys whose work does not wait.
        var open: Set<Int> = []
    }

    private let state = Lock(State())

    var begun: [Int] { state.withLock { $0.begun } }
    var maxAtOnce: Int { state.withLock { $0.maxAtOnce } }
    func waiting(_ key: Int) -> Bool { state.withLock { $0.waiting.contains { $0.key == key } } }

    /// Plans the next outcomes of a key; `.idle` afterwards.
    func plan(_ key: Int, _ outcomes: [Lanes<Int>.Outcome]) { state.withLock { $0.outcomes[key] = outcomes } }

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

    func work(_ key: Int) async -> Lanes<Int>.Outcome {
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

@Suite("Lanes", .timeLimit(.minutes(10)))
struct LanesTests {
    private let workshop: Workshop
    private let lanes: Lanes<Int>
    /// Longer than any test.
    private static let later = RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max)

    init() {
        let workshop = Workshop()
        self.workshop = workshop
        lanes = Lanes { await workshop.work($0) }
    }

    private func rests() async throws {
        try await wait(until: "nothing is under way") { lanes.rests(until: .now) }
    }

    @Test("one key runs in sequence, different keys concurrently")
    func besides() async throws {
        for _ in 0..<3 { for key in 1...3 { lanes.wake(key) } }
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
        lanes.wake(1)
        try await rests()
        #expect(workshop.begun == [1, 1, 1])
        lanes.wake(1)
        try await wait(until: "it was woken again") { workshop.begun.count == 4 }
    }

    @Test("failure delays the next run unless hurried")
    func failure() async throws {
        workshop.plan(1, [.retry(Self.later), .retry(Self.later)])
        workshop.letPass(1)
        lanes.wake(1)
        try await rests()
        lanes.wake(1)
        #expect(workshop.begun == [1])
        lanes.hurry(1)
        try await wait(until: "it was tried again") { workshop.begun.count == 2 }
        try await rests()
        lanes.endRetryDelays()
        try await wait(until: "it was tried once more") { workshop.begun.count == 3 }
        try await rests()
        // Idle after success; nothing to hurry.
        lanes.endRetryDelays()
        #expect(workshop.begun.count == 3)
    }

    @Test("waiting lane rests, wakes and checks again")
    func waitingForOthers() async throws {
        workshop.plan(1, [.later(.seconds(3600)), .later(.milliseconds(1)), .idle])
        workshop.letPass(1)
        lanes.wake(1)
        try await rests()
        #expect(workshop.begun == [1] && lanes.rests(until: .now + .seconds(7200)))
        // No failure occurred.
        lanes.endRetryDelays()
        #expect(lanes.rests(until: .now))
        lanes.wake(1)
        try await wait(until: "it has looked again") { workshop.begun.count == 3 }
        try await rests()
    }

    @Test("hurry during a failing run retries at once")
    func hurriedMeanwhile() async throws {
        workshop.plan(1, [.retry(Self.later), .idle])
        lanes.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        lanes.hurry(1)
        lanes.wake(1)
        workshop.letPass(1)
        try await wait(until: "it was tried again") { workshop.begun.count == 2 }
        try await rests()
        #expect(workshop.begun == [1, 1])
    }

    @Test("wake during a failing run keeps the delay")
    func wokenMeanwhile() async throws {
        workshop.plan(1, [.retry(Self.later)])
        lanes.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        lanes.wake(1)
        workshop.letPass(1)
        try await rests()
        #expect(workshop.begun == [1])
        #expect(lanes.rests(until: .now + .seconds(60)) && !lanes.rests(until: .now + .seconds(7200)))
    }

    @Test("exhausted retry policy ends the lane")
    func givenUp() async throws {
        let once = RetryPolicy(first: .nanoseconds(1), maxDelay: .nanoseconds(1), tries: 2)
        workshop.plan(1, Array(repeating: .retry(once), count: 9))
        workshop.letPass(1)
        lanes.wake(1)
        try await wait(until: "it was given up") { lanes.rests(until: .now + .seconds(86_400)) }
        #expect(workshop.begun == [1, 1])
    }

    @Test("rest returns when idle or at the deadline")
    func rest() async throws {
        #expect(await lanes.rest(until: .now))
        lanes.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        #expect(await !lanes.rest(until: .now))
        #expect(await !lanes.rest(until: .now + .milliseconds(1)))
        async let rested = lanes.rest(until: .now + .seconds(600))
        workshop.letPass(1)
        #expect(await rested)
    }

    @Test("rest beyond a pending retry waits for it")
    func restBeyondATry() async throws {
        workshop.plan(1, [.retry(Self.later)])
        workshop.letPass(1)
        lanes.wake(1)
        try await rests()
        #expect(await lanes.rest(until: .now + .seconds(60)))
        async let rested = lanes.rest(until: .now + .seconds(7200))
        lanes.hurry(1)
        #expect(await rested)
    }

    @Test("stop starts no more work")
    func stopped() async throws {
        workshop.plan(1, [.more, .more])
        lanes.wake(1)
        try await wait(until: "it is under way") { workshop.waiting(1) }
        lanes.stop()
        lanes.wake(2)
        lanes.hurry(2)
        workshop.letPass(1)
        try await rests()
        lanes.wake(1)
        #expect(workshop.begun == [1])
    }
}
