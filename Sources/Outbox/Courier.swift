import Base
import ChatCore
import Posix

/// Gives a message what takes a moment to make: its preview. As it was where there is none.
public typealias MessageCompletion = @Sendable (ComposedMessage) async -> ComposedMessage

/// Hands queued drafts to the core: in the order of their last close within a chat, chats side by side. What the core refuses
/// for a while is tried again with growing delays and lets the others pass.
final class Courier: Sendable {
    private let core: any ChatCore
    private let room: Workroom
    private let clock: any OutboxClock
    private let previews: MessageCompletion
    private let step: @Sendable (OutboxStep) -> Void
    /// Refused for now: each waits for its next attempt.
    private let postponed = Lock<Set<Draft>>([])

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

    /// From now on what is ready is handed over.
    func start() {
        room.order.whenReady { [weak self] chat in
            guard let self else { return }
            Task { await self.work(through: chat) }
        }
    }

    /// These are queued: they go when nobody in front of them waits.
    func take(_ drafts: [Draft]) { room.order.wake(Set(drafts.map(\.chat))) }

    /// Hands over at once what waits for its next attempt.
    func retryPostponed() {
        let drafts = postponed.withLock { postponed in
            defer { postponed = [] }
            return postponed
        }
        tryAgain(drafts)
    }

    private func postpone(_ draft: Draft, by delay: Duration) {
        postponed.withLock { _ = $0.insert(draft) }
        clock.call(after: delay) { [weak self] in
            guard let self, postponed.withLock({ $0.remove(draft) }) != nil else { return }
            tryAgain([draft])
        }
    }

    private func tryAgain(_ drafts: Set<Draft>) {
        ThreadPool.shared.submit {
            for draft in drafts { draft.enterAgain() }
            self.take(Array(drafts))
        }
    }

    private func work(through chat: ChatReference) async {
        while true {
            let drafts = nextGroup(in: chat)
            if drafts.isEmpty { return }
            await handOver(drafts)
        }
    }

    /// What is handed over next: one, or as many small ones as the core likes to take together.
    private func nextGroup(in chat: ChatReference) -> [Draft] {
        var (count, bytes) = (0, UInt64(0))
        return room.order.next(in: chat) { draft in
            count += 1
            bytes += min(draft.snapshot.size, Self.mostBytesTogether)
            return count == 1 || count <= core.limits.mostSentTogether && bytes <= Self.mostBytesTogether
        }
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
