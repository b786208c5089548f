import Base
import ChatCore

/// The order in which drafts are handed over: in each chat that of their last close. A draft is in the queue of its
/// chat from then until it is handed over, or until it is clear that it is not sent for now. Any thread, from memory.
final class DeliveryQueue: Sendable {
    private struct State {
        var queues: [ChatReference: ChatQueue<Draft>] = [:]
        /// Chats in which some are being handed over.
        var busy: Set<ChatReference> = []
        var lastSequence: Int64
        var waiters: [CheckedContinuation<Void, Never>] = []
        var whenReady: @Sendable (ChatReference) -> Void = { _ in }
    }

    private let state: Lock<State>

    /// - Parameter last: the highest sequence number of an earlier process.
    init(after last: Int64) { state = Lock(State(lastSequence: last), rank: .collection) }

    /// Who hands over, told whenever something in a chat is ready and nothing there is being handed over. Must not
    /// block. Set once, at the start.
    func whenReady(_ body: @escaping @Sendable (ChatReference) -> Void) {
        state.withLock { $0.whenReady = body }
    }

    /// The number of what is closed now.
    func nextSequence() -> Int64 {
        state.withLock { state in
            state.lastSequence += 1
            return state.lastSequence
        }
    }

    /// It will be queued after its quiet time, or leave.
    func reserve(_ draft: Draft, at sequence: Int64) {
        change(draft.chat, notifies: true) { $0.reserve(draft, at: sequence) }
    }

    /// It is queued. Nobody is told: that is for `notify`, when all of a group are.
    func enqueue(_ draft: Draft, at sequence: Int64) {
        change(draft.chat, notifies: false) { $0.enqueue(draft, at: sequence) }
    }

    /// It is not to be sent for now; those behind it need not wait.
    func remove(_ draft: Draft) { change(draft.chat, notifies: true) { $0.remove(draft) } }

    /// What is ready in these chats is handed over.
    func notify(_ chats: Set<ChatReference>) { for chat in chats { change(chat, notifies: true) { _ in } } }

    private func change(
        _ chat: ChatReference, notifies: Bool, _ body: (inout ChatQueue<Draft>) -> Void
    ) {
        let notify = state.withLock { state -> (@Sendable (ChatReference) -> Void)? in
            body(&state.queues[chat, default: ChatQueue()])
            guard let queue = state.queues[chat] else { return nil }
            if queue.isEmpty { state.queues[chat] = nil }
            guard notifies, queue.hasReady, state.busy.insert(chat).inserted else { return nil }
            return state.whenReady
        }
        notify?(chat)
    }

    /// Those of a chat that go next, as many as `accepts` says; none: the chat is not busy any more.
    func dequeue(in chat: ChatReference, while accepts: (Draft) -> Bool) -> [Draft] {
        let (drafts, waiters) = state.withLock { state in
            let drafts = state.queues[chat]?.dequeue(while: accepts) ?? []
            if state.queues[chat]?.isEmpty == true { state.queues[chat] = nil }
            if drafts.isEmpty { state.busy.remove(chat) }
            guard state.busy.isEmpty else { return (drafts, [CheckedContinuation<Void, Never>]()) }
            defer { state.waiters = [] }
            return (drafts, state.waiters)
        }
        for waiter in waiters { waiter.resume() }
        return drafts
    }

    /// Waits until nothing is being handed over.
    func becomeIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.busy.isEmpty { state.waiters.append(continuation) }
                return state.busy.isEmpty
            }
            if isIdle { continuation.resume() }
        }
    }
}
