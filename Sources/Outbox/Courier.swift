import Base
import ChatCore
import Posix

/// Gives a message what takes a moment to make: its preview. As it was where there is none.
public typealias MessageCompletion = @Sendable (ComposedMessage) async -> ComposedMessage

/// Hands queued drafts to the core: in order within a chat, chats side by side. What the core refuses
/// for a while is tried again with growing delays and lets the others pass.
final class Courier: Sendable {
    private struct State {
        /// What waits for each chat; a chat is here while its task runs.
        var lanes: [ChatReference: [Draft]] = [:]
        /// Refused for now: each waits for its next attempt.
        var postponed: Set<Draft> = []
        var whenIdle: [CheckedContinuation<Void, Never>] = []
    }

    private let core: any ChatCore
    private let room: Workroom
    private let clock: any OutboxClock
    private let previews: MessageCompletion
    private let step: @Sendable (OutboxStep) -> Void
    private let state = Lock(State())

    /// For ever: an outbox never gives up what it promised to send.
    private static let policy = RetryPolicy(first: .seconds(2), longest: .seconds(300), tries: .max)

    init(
        core: any ChatCore, room: Workroom, clock: any OutboxClock,
        previews: @escaping MessageCompletion, step: @escaping @Sendable (OutboxStep) -> Void
    ) {
        self.core = core
        self.room = room
        self.clock = clock
        self.previews = previews
        self.step = step
    }

    func take(_ drafts: [Draft]) {
        let idle = state.withLock { state in
            drafts.filter { draft in
                state.lanes[draft.chat, default: []].append(draft)
                return state.lanes[draft.chat]?.count == 1
            }.map(\.chat)
        }
        for chat in idle { Task { await self.work(through: chat) } }
    }

    /// Hands over at once what waits for its next attempt.
    func retryPostponed() {
        let drafts = state.withLock { state in
            defer { state.postponed = [] }
            return state.postponed.sorted { $0.id < $1.id }
        }
        take(drafts)
    }

    private func postpone(_ draft: Draft, by delay: Duration) {
        state.withLock { _ = $0.postponed.insert(draft) }
        clock.call(after: delay) { [weak self] in
            guard let self, state.withLock({ $0.postponed.remove(draft) }) != nil else { return }
            take([draft])
        }
    }

    /// Waits until nothing is being handed over. What waits for a later try is not waited for.
    func becomeIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.lanes.isEmpty { state.whenIdle.append(continuation) }
                return state.lanes.isEmpty
            }
            if isIdle { continuation.resume() }
        }
    }

    /// The first of a lane stays in it while it is handed over, as the mark that a task runs.
    private func work(through chat: ChatReference) async {
        var next = state.withLock { firstGroup($0.lanes[chat] ?? []) }
        while !next.isEmpty {
            let count = next.count
            await handOver(next)
            let (following, waiting) = state.withLock { state in
                state.lanes[chat]?.removeFirst(count)
                let following = firstGroup(state.lanes[chat] ?? [])
                if following.isEmpty { state.lanes[chat] = nil }
                guard state.lanes.isEmpty else { return (following, [CheckedContinuation<Void, Never>]()) }
                defer { state.whenIdle = [] }
                return (following, state.whenIdle)
            }
            for continuation in waiting { continuation.resume() }
            next = following
        }
    }

    /// What is handed over next: one, or as many small ones as the core likes to take together.
    private func firstGroup(_ lane: [Draft]) -> [Draft] {
        var bytes: UInt64 = 0
        let group = lane.prefix(core.limits.mostSentTogether).prefix { draft in
            bytes += min(draft.snapshot.size, Self.mostBytesTogether)
            return bytes <= Self.mostBytesTogether
        }
        return Array(group.isEmpty ? lane.prefix(1) : group)
    }

    private static let mostBytesTogether: UInt64 = 1 << 20

    private func handOver(_ drafts: [Draft]) async {
        let begun = await ThreadPool.shared.run {
            drafts.compactMap { draft in draft.beginSending().map { (draft, $0) } }
        }
        guard let chat = begun.first?.0.chat else { return }
        let answers = await core.send(await completed(begun.map(\.1)), to: chat)
        for ((draft, _), answer) in zip(begun, answers) { await take(answer, of: draft) }
    }

    /// With their previews, which are made side by side.
    private func completed(_ messages: [ComposedMessage]) async -> [ComposedMessage] {
        await withTaskGroup(of: (Int, ComposedMessage).self) { group in
            var completed = messages
            for (place, message) in messages.enumerated() where message.content.kind != .file {
                group.addTask { [previews] in (place, await previews(message)) }
            }
            for await (place, message) in group { completed[place] = message }
            return completed
        }
    }

    /// With its preview, where it has one.
    func completed(_ message: ComposedMessage) async -> ComposedMessage {
        await completed([message]).first ?? message
    }

    private func take(_ answer: Result<ChatItem, ChatError>, of draft: Draft) async {
        let pool = ThreadPool.shared
        do throws(ChatError) {
            let item = try answer.get()
            step(.handedOver)
            if await pool.run({ draft.noteSent(item.id) }) {
                step(.noted)
                room.news.send(.became(draft, item))
            } else {
                await takeBack(item)
            }
        } catch {
            let isFinal = Self.isFinal(error.code)
            room.log.warning("a file was not sent: \(error.sentence)")
            let tries = await pool.run { draft.noteRefused(error, isFinal: isFinal) }
            if let tries, let delay = Self.policy.delay(beforeTry: tries + 1) {
                postpone(draft, by: delay)
            }
        }
    }

    /// Its entry was removed while the core was taking it: the recipients are to be spared it.
    private func takeBack(_ item: ChatItem) async {
        do throws(ChatError) {
            if let file = item.file { try await core.cancelFile(file.id) }
        } catch {
            room.log.notice("a removed file could not be cancelled: \(error.sentence)")
        }
        do throws(ChatError) {
            try await core.deleteItems([item.id], in: item.chat, mode: .broadcast)
        } catch {
            room.log.notice("the message of a removed file could not be deleted: \(error.sentence)")
        }
    }

    /// Whether trying again without a change by somebody cannot help.
    static func isFinal(_ code: ChatError.Code) -> Bool {
        switch code {
        case .noSuchProfile, .noSuchChat, .noSuchItem, .noSuchFile, .sendingRefused, .sendingUnsure,
            .tooLarge,
            .alreadyReceiving, .nameTaken, .invalidCommand, .wrongVersion:
            true
        case .profileInUse, .storage, .internalError: false
        case .file(let kind):
            switch kind {
            case .unreachable, .timedOut, .noSpace, .relayFull, .noRelay, .notApproved: false
            case .expired, .neverUploaded, .cancelledBySender, .blocked, .damaged, .tooLarge, .other: true
            }
        }
    }
}
