import Base
import ChatCore
import Posix

/// Deletes expired messages (`RetentionTable`) with their files and texts, at start and then at each expiry.
/// Without an expiring message it uses no thread or timer.
final class Disappearing: Sendable {
    private struct State {
        var timer: WallTimer?
        var isOver = false
        /// Time set in the timer.
        var next: Timestamp?
    }

    private let store: ProfileStore
    private let removals: Removals
    private let state = Lock(State())
    private let order = AsyncSemaphore(1)

    /// Delay until a failed sweep is repeated.
    static let pause = Duration.seconds(60)

    /// Time of the next sweep; nil if no message expires.
    var next: Timestamp? { state.withLock { $0.next } }

    /// Messages per transaction.
    private static let batch = 200

    init(_ store: ProfileStore, _ removals: Removals) {
        self.store = store
        self.removals = removals
    }

    /// Deletes expired messages and sets the timer for the next expiry. Call it after new messages. Sweeps
    /// run one at a time. A failed one is repeated after a minute.
    func look() async {
        // In a task of its own, because a cancelled one gets no turn.
        await Task {
            _ = await order.acquire()
            defer { order.release() }
            await lookNow()
        }.value
    }

    private func lookNow() async {
        do throws(ChatError) {
            while true {
                let due = try await store.reading { [store] in
                    try $0.items.disappeared(at: store.clock.now(), count: Self.batch)
                }
                guard !due.isEmpty else { break }
                for (chat, items) in Dictionary(grouping: due, by: \.chat) {
                    try await removals.delete(items.map(\.item), in: chat, mode: .internal, .disappeared)
                }
            }
            try await blocking.run { [self] in
                while try blankTexts() > 0 {}
                let next = try store.read { tables in
                    try [
                        tables.items.nextExpiry(),
                        tables.messageLog.nextExpiry(of: store.profile.id),
                    ].compactMap { $0 }.min()
                }
                try setTimer(next)
            }
        } catch {
            log.warning("expired messages not deleted, retrying: error=\(error.sentence)")
            await blocking.attempt("set a timer") { [self] in
                try setTimer(store.clock.now().advanced(by: Self.pause))
            }
        }
    }

    /// Blanks expired texts without an item. Returns their number, at most one batch. Blocks.
    private func blankTexts() throws -> Int {
        let (now, profile) = (store.clock.now(), store.profile.id)
        let due = try store.read {
            try $0.messageLog.disappeared(of: profile, at: now, count: Self.batch)
        }
        guard !due.isEmpty else { return 0 }
        try store.commit { change in for text in due { try change.blank(text) } }
        // The journal keeps the texts until it is emptied.
        store.tryToEmptyJournal()
        return due.count
    }

    /// Starts `look` and returns at once.
    func scheduleLook() { Task { [weak self] in await self?.look() } }

    func stop() {
        state.withLock { state in
            state.isOver = true
            return state.timer
        }?.stop()
    }

    private func setTimer(_ time: Timestamp?) throws {
        let known = state.withLock { state in
            state.next = time
            return state.isOver ? nil : state.timer
        }
        if let known { return known.set(time) }
        guard let time, !state.withLock({ $0.isOver }) else { return }
        let made = try WallTimer { [weak self] in self?.scheduleLook() }
        let isFirst = state.withLock { state in
            guard !state.isOver, state.timer == nil else { return false }
            state.timer = made
            return true
        }
        if isFirst { made.set(time) } else { made.stop() }
    }
}
