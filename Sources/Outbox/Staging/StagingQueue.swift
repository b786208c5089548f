import Base
import ChatCore
import Posix

/// Drafts whose quiet time is over, and who looks whether they are finished and stages them: at most two passes at a time, on `ThreadPool.shared`.
final class StagingQueue: Sendable {
    private struct State {
        var waiting: [QuietDraft] = []
        /// Passes that run.
        var passes = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// Nothing is staged any longer.
        var isClosed = false
    }

    private let core: any ChatCore
    private let context: DraftContext
    private let check: CompletionCheck
    private let clock: any OutboxClock
    private let state = Lock(State(), rank: .collection)

    /// Staged together: one durable transaction for many small files, none of them waits for a big one.
    private static let maxInGroup = 64
    private static let maxBytesInGroup: UInt64 = 8 << 20
    private static let maxPasses = 2
    private static let retryDelay = Duration.seconds(10)

    init(core: any ChatCore, context: DraftContext, check: CompletionCheck, clock: any OutboxClock) {
        self.core = core
        self.check = check
        self.context = context
        self.clock = clock
    }

    /// Nothing is being staged at this moment.
    var isIdle: Bool { state.withLock { $0.passes == 0 } }

    /// Stages these, then has them handed over. Returns at once.
    func add(_ drafts: [QuietDraft]) {
        let starts = state.withLock { state in
            if state.isClosed { return false }
            state.waiting += drafts
            guard state.passes < Self.maxPasses else { return false }
            state.passes += 1
            return true
        }
        if starts { ThreadPool.shared.submit { self.run() } }
    }

    func close() { state.withLock { $0.isClosed = true } }

    /// Waits until nothing is being staged.
    func becomeIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.passes > 0 { state.waiters.append(continuation) }
                return state.passes == 0
            }
            if isIdle { continuation.resume() }
        }
    }

    private func run() {
        while true {
            let (group, hasMore) = state.withLock { state in
                let group = Self.takeGroup(from: &state.waiting)
                return (group, !state.waiting.isEmpty)
            }
            if group.isEmpty { break }
            // A big file does not hold up what comes after it.
            if hasMore { add([]) }
            core.expectToSend(group.map(\.draft.snapshot.size).max() ?? 0)
            let outcome = StagingPass(context: context, check: check).queue(group)
            context.deliveries.notify(Set(outcome.queued.map(\.chat)))
            if !outcome.later.isEmpty {
                clock.call(after: Self.retryDelay) { [weak self] in self?.add(outcome.later) }
            }
        }
        let waiters = state.withLock { state in
            state.passes -= 1
            guard state.passes == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private static func takeGroup(from drafts: inout [QuietDraft]) -> [QuietDraft] {
        var bytes: UInt64 = 0
        let group = drafts.prefix(maxInGroup).prefix { quiet in
            bytes += min(quiet.draft.snapshot.size, maxBytesInGroup)
            return bytes <= maxBytesInGroup
        }
        // A big one goes alone.
        let taken = group.isEmpty ? drafts.prefix(1) : group
        defer { drafts.removeFirst(taken.count) }
        return Array(taken)
    }
}
