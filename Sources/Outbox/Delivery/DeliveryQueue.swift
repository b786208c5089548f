import Base
import ChatCore

/// The order of delivery: in each chat that of the last closes. A draft is queued from its last close until
/// it is handed over or held back. Thread-safe; no I/O.
final class DeliveryQueue: Sendable {
    private struct State {
        var queues: [ChatReference: ChatQueue<Draft>] = [:]
        var lastSequence: Int64
    }

    /// Delivers in chats with ready drafts.
    let work = WorkQueue<ChatReference>()
    private let state: Lock<State>

    /// - Parameter last: Highest sequence number of an earlier process.
    init(after last: Int64) { state = Lock(State(lastSequence: last), rank: .collection) }

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
        let hasReady = state.withLock { state in
            body(&state.queues[chat, default: ChatQueue()])
            defer { if state.queues[chat]?.isEmpty == true { state.queues[chat] = nil } }
            return state.queues[chat]?.hasReady == true
        }
        if notifies, hasReady { work.wake(chat) }
    }

    /// Returns the next ready drafts of a chat while `accepts` returns true.
    func dequeue(in chat: ChatReference, while accepts: (Draft) -> Bool) -> [Draft] {
        state.withLock { state in
            defer { if state.queues[chat]?.isEmpty == true { state.queues[chat] = nil } }
            return state.queues[chat]?.dequeue(while: accepts) ?? []
        }
    }
}
