import Base
import ChatCore

/// The order of delivery: in each chat that of the last closes. A draft is queued from its last close until
/// it is handed over or held back. Thread-safe; no I/O.
final class DeliveryQueue: Sendable {
    private struct State {
        var queues: [ChatReference: ChatQueue<Draft>] = [:]
        /// Chats with a delivery in progress.
        var busy: Set<ChatReference> = []
        var lastSequence: Int64
        /// True if no further delivery may begin.
        var isClosed = false
        var whenReady: @Sendable (ChatReference) -> Void = { _ in }

        var isOver: Bool { isClosed && busy.isEmpty }
    }

    private let state: Lock<State>
    private let ended = OneTimeEvent()

    /// - Parameter last: Highest sequence number of an earlier process.
    init(after last: Int64) { state = Lock(State(lastSequence: last), rank: .collection) }

    /// Sets the function that starts delivery in a chat. It is called when a draft is ready and no delivery
    /// is in progress there, and must not block. Set once, at the start.
    func whenReady(_ body: @escaping @Sendable (ChatReference) -> Void) {
        state.withLock { $0.whenReady = body }
    }

    /// Returns the sequence number of a close.
    func nextSequence() -> Int64 {
        state.withLock { state in
            state.lastSequence += 1
            return state.lastSequence
        }
    }

    /// Reserves the place of a draft that is queued later or removed.
    func reserve(_ draft: Draft, at sequence: Int64) {
        change(draft.chat, notifies: true) { $0.reserve(draft, at: sequence) }
    }

    /// Makes a draft ready without starting delivery; call `notify` after a group.
    func enqueue(_ draft: Draft, at sequence: Int64) {
        change(draft.chat, notifies: false) { $0.enqueue(draft, at: sequence) }
    }

    /// Removes a draft that is not sent for now, so that others pass.
    func remove(_ draft: Draft) { change(draft.chat, notifies: true) { $0.remove(draft) } }

    /// Starts delivery of ready drafts in these chats.
    func notify(_ chats: Set<ChatReference>) { for chat in chats { change(chat, notifies: true) { _ in } } }

    private func change(
        _ chat: ChatReference, notifies: Bool, _ body: (inout ChatQueue<Draft>) -> Void
    ) {
        let notify = state.withLock { state -> (@Sendable (ChatReference) -> Void)? in
            body(&state.queues[chat, default: ChatQueue()])
            guard let queue = state.queues[chat] else { return nil }
            if queue.isEmpty { state.queues[chat] = nil }
            guard notifies, !state.isClosed, queue.hasReady, state.busy.insert(chat).inserted else {
                return nil
            }
            return state.whenReady
        }
        notify?(chat)
    }

    /// Returns the next ready drafts of a chat while `accepts` returns true. An empty result ends the chat's
    /// delivery.
    func dequeue(in chat: ChatReference, while accepts: (Draft) -> Bool) -> [Draft] {
        let (drafts, isOver) = state.withLock { state in
            let drafts = state.queues[chat]?.dequeue(while: accepts) ?? []
            if state.queues[chat]?.isEmpty == true { state.queues[chat] = nil }
            if drafts.isEmpty { state.busy.remove(chat) }
            return (drafts, state.isOver)
        }
        if isOver { ended.happen() }
        return drafts
    }

    /// Waits until no delivery is in progress. No other begins: a retry after the shutdown would send a draft that the
    /// next start sends too.
    func close() async {
        let isOver = state.withLock { state in
            state.isClosed = true
            return state.isOver
        }
        if isOver { ended.happen() }
        await ended.wait()
    }
}
