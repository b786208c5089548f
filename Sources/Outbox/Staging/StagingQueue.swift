import Base
import ChatCore
import Posix

/// Drafts whose quiet time is over. Checks and stages them in at most two concurrent passes.
final class StagingQueue: Sendable {
    private struct State {
        var waiting: [QuietDraft] = []
        /// Number of running passes.
        var passes = 0
        /// The end of the last running pass; nil if none runs.
        var ended: OneTimeEvent?
        /// No more drafts are staged.
        var isClosed = false
    }

    private let core: any ChatCore
    private let context: DraftContext
    private let check: CompletionCheck
    private let clock: any OutboxClock
    private let state = Lock(State(), rank: .collection)

    /// Limits of one pass: many small files share one durable transaction, and none waits for a large file.
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

    /// True if no pass runs.
    var isIdle: Bool { state.withLock { $0.passes == 0 } }

    /// Stages drafts, then starts their delivery. Returns at once.
    func add(_ drafts: [QuietDraft]) {
        let starts = state.withLock { state in
            if state.isClosed { return false }
            state.waiting += drafts
            guard state.passes < Self.maxPasses else { return false }
            if state.passes == 0 { state.ended = OneTimeEvent() }
            state.passes += 1
            return true
        }
        if starts { StagingFolder.threads.submit { self.run() } }
    }

    func close() { state.withLock { $0.isClosed = true } }

    /// Waits until no pass runs.
    func becomeIdle() async { await state.withLock { $0.ended }?.wait() }

    private func run() {
        while true {
            let (group, hasMore) = state.withLock { state in
                let group = Self.takeGroup(from: &state.waiting)
                return (group, !state.waiting.isEmpty)
            }
            if group.isEmpty { break }
            // A second pass, so that a large file does not delay the next ones.
            if hasMore { add([]) }
            core.expectToSend(group.map(\.draft.snapshot.size).max() ?? 0)
            let outcome = StagingPass(context: context, check: check).queue(group)
            context.deliveries.notify(Set(outcome.queued.map(\.chat)))
            if !outcome.later.isEmpty {
                clock.call(after: Self.retryDelay) { [weak self] in self?.add(outcome.later) }
            }
        }
        let ended = state.withLock { state -> OneTimeEvent? in
            state.passes -= 1
            guard state.passes == 0 else { return nil }
            defer { state.ended = nil }
            return state.ended
        }
        ended?.happen()
    }

    private static func takeGroup(from drafts: inout [QuietDraft]) -> [QuietDraft] {
        var bytes: UInt64 = 0
        let group = drafts.prefix(maxInGroup).prefix { quiet in
            bytes += min(quiet.draft.snapshot.size, maxBytesInGroup)
            return bytes <= maxBytesInGroup
        }
        // A large file has its own pass.
        let taken = group.isEmpty ? drafts.prefix(1) : group
        defer { drafts.removeFirst(taken.count) }
        return Array(taken)
    }
}
