import Base
import ChatCore

/// The order in which drafts are handed over: in each chat that of their last close. A draft is in the line of its
/// chat from then until it is handed over, or until it is clear that it is not sent for now.
final class SendingOrder: Sendable {
    private struct State {
        var lines: [ChatReference: SendingLine<Draft>] = [:]
        /// Chats in which some are being handed over.
        var busy: Set<ChatReference> = []
        var lastPlace: Int64
        var whenIdle: [CheckedContinuation<Void, Never>] = []
        var whenReady: @Sendable (ChatReference) -> Void = { _ in }
    }

    private let state: Lock<State>

    /// - Parameter last: the highest place of an earlier process.
    init(after last: Int64) { state = Lock(State(lastPlace: last)) }

    /// Who hands over, told whenever somebody in a chat may go and nobody there is going. Set once, at the start.
    func whenReady(_ body: @escaping @Sendable (ChatReference) -> Void) {
        state.withLock { $0.whenReady = body }
    }

    /// The place of what is closed now.
    func nextPlace() -> Int64 {
        state.withLock { state in
            state.lastPlace += 1
            return state.lastPlace
        }
    }

    /// It will be queued after its quiet time, or leave.
    func enter(_ draft: Draft, at place: Int64) {
        change(of: draft.chat, wakes: true) { $0.enter(draft, at: place) }
    }

    /// It is queued. Nobody is woken: that is for `wake`, when all of a group are.
    func ready(_ draft: Draft, at place: Int64) {
        change(of: draft.chat, wakes: false) { $0.ready(draft, at: place) }
    }

    /// It is not to be sent for now; those behind it need not wait.
    func leave(_ draft: Draft) { change(of: draft.chat, wakes: true) { $0.leave(draft) } }

    func wake(_ chats: Set<ChatReference>) { for chat in chats { change(of: chat, wakes: true) { _ in } } }

    private func change(
        of chat: ChatReference, wakes: Bool, _ body: (inout SendingLine<Draft>) -> Void
    ) {
        let wake = state.withLock { state -> (@Sendable (ChatReference) -> Void)? in
            body(&state.lines[chat, default: SendingLine()])
            guard let line = state.lines[chat] else { return nil }
            if line.isEmpty { state.lines[chat] = nil }
            guard wakes, line.canGo, state.busy.insert(chat).inserted else { return nil }
            return state.whenReady
        }
        wake?(chat)
    }

    /// Those of a chat that go next, as many as `accepts` says; none: the chat is not busy any more.
    func next(in chat: ChatReference, while accepts: (Draft) -> Bool) -> [Draft] {
        let (drafts, idle) = state.withLock { state in
            let drafts = state.lines[chat]?.go(while: accepts) ?? []
            if state.lines[chat]?.isEmpty == true { state.lines[chat] = nil }
            if drafts.isEmpty { state.busy.remove(chat) }
            guard state.busy.isEmpty else { return (drafts, [CheckedContinuation<Void, Never>]()) }
            defer { state.whenIdle = [] }
            return (drafts, state.whenIdle)
        }
        for continuation in idle { continuation.resume() }
        return drafts
    }

    /// Waits until nothing is being handed over.
    func becomeIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.busy.isEmpty { state.whenIdle.append(continuation) }
                return state.busy.isEmpty
            }
            if isIdle { continuation.resume() }
        }
    }
}
