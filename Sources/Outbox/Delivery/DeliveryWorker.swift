import Base
import ChatCore
import Glibc
import Posix

/// Completes a message before delivery: adds its preview and removes metadata from its file. A file that it
/// creates in the staging folder is deleted after the delivery. Takes a moment.
/// - Throws: The reason why the message cannot be sent, as a core reports it.
public typealias MessageCompletion =
    @Sendable (ComposedMessage) async throws(ChatError) -> ComposedMessage

/// Sends ready drafts of the delivery queue to the core, chats in parallel. Temporary refusals are retried
/// with growing delays and let other drafts pass. Tasks run on the cooperative pool; blocking work runs on
/// `ThreadPool.shared`.
final class DeliveryWorker: Sendable {
    private let core: any ChatCore
    private let context: DraftContext
    private let clock: any OutboxClock
    private let completion: MessageCompletion
    /// Temporarily refused drafts that wait for a retry.
    private let postponed = Lock<Set<Draft>>([])

    /// Unlimited tries, because a queued draft is always sent.
    private static let policy = RetryPolicy(first: .seconds(2), maxDelay: .seconds(300), tries: .max)
    /// Maximum bytes of small files in one call of the core.
    private static let maxBytesTogether: UInt64 = 1 << 20

    init(
        core: any ChatCore, context: DraftContext, clock: any OutboxClock,
        completion: @escaping MessageCompletion
    ) {
        self.core = core
        self.context = context
        self.clock = clock
        self.completion = completion
    }

    /// Starts deliveries.
    func start() {
        context.deliveries.work.begin { [weak self] chat in await self?.deliver(in: chat) ?? .idle }
    }

    // MARK: - Delivery

    private func deliver(in chat: ChatReference) async -> WorkOutcome {
        let drafts = nextGroup(in: chat)
        if drafts.isEmpty { return .idle }
        await handOver(drafts)
        return .more
    }

    /// Returns the next draft, or as many small ones as the core takes in one call.
    private func nextGroup(in chat: ChatReference) -> [Draft] {
        var (count, bytes) = (0, UInt64(0))
        return context.deliveries.dequeue(in: chat) { draft in
            count += 1
            bytes += min(draft.snapshot.size, Self.maxBytesTogether)
            return count == 1 || count <= core.limits.maxSentTogether && bytes <= Self.maxBytesTogether
        }
    }

    private func handOver(_ drafts: [Draft]) async {
        let replies = await ThreadPool.shared.run {
            drafts.map { (draft: $0, reply: $0.tell(.deliveryBegins)) }
        }
        // A draft is immutable from now on, because the core may have it. Removed drafts are not handed over.
        let begun = replies.compactMap { draft, reply in
            if case .handOver(let delivery) = reply { (draft, message(of: draft, delivery)) } else { nil }
        }
        await handOver(begun)
        for (draft, reply) in replies where reply == .lookForItem { await takeBack(draft) }
    }

    private func handOver(_ begun: [(Draft, ComposedMessage)]) async {
        guard let chat = begun.first?.0.chat else { return }
        let completed = await completed(begun.map(\.1))
        let messages = completed.compactMap { try? $0.get() }
        var answers = messages.isEmpty ? [] : await core.send(messages, to: chat)[...]
        for ((draft, message), completed) in zip(begun, completed) {
            switch completed {
            case .success(let sent):
                guard let answer = answers.popFirst() else { break }
                if sent.source.path != message.source.path { unlink(sent.source.path) }
                await take(answer, of: draft)
            case .failure(let error): await take(DeliveryRefusal(beforehand: error), of: draft)
            }
        }
    }

    private func message(of draft: Draft, _ delivery: Delivery) -> ComposedMessage {
        let (record, staged) = (draft.machine.record, delivery.staged)
        var message = ComposedMessage(
            id: record.message, fileName: record.sentName, size: record.size,
            source: FileSourceLocation(
                path: context.staging.path(of: staged), arguments: staged.arguments),
            content: MessageContent(kind: staged.kind, text: record.caption), modified: record.modified)
        message.mayBeRepeated = delivery.isConfirmed
        return message
    }

    /// Completes messages in parallel.
    private func completed(_ messages: [ComposedMessage]) async -> [Result<ComposedMessage, ChatError>] {
        await withTaskGroup(of: (Int, Result<ComposedMessage, ChatError>).self) { group in
            var completed = messages.map(Result<ComposedMessage, ChatError>.success)
            for (index, message) in messages.enumerated() {
                group.addTask { (index, await self.result(of: message)) }
            }
            for await (index, message) in group { completed[index] = message }
            return completed
        }
    }

    /// A method, because optimised builds lost a captured function with a typed throw in a task group.
    private func result(of message: ComposedMessage) async -> Result<ComposedMessage, ChatError> {
        do throws(ChatError) {
            return .success(try await completed(message))
        } catch {
            return .failure(error)
        }
    }

    /// Completes one message.
    func completed(_ message: ComposedMessage) async throws(ChatError) -> ComposedMessage {
        try await completion(message)
    }

    // MARK: - Answers

    private func take(_ answer: Result<ChatItem, ChatError>, of draft: Draft) async {
        do throws(ChatError) {
            let item = try answer.get()
            await take(item, of: draft)
        } catch {
            await take(DeliveryRefusal(error), of: draft)
        }
    }

    private func take(_ item: ChatItem, of draft: Draft) async {
        context.step(.handedOver)
        switch await ThreadPool.shared.run({ draft.tell(.accepted(item.id)) }) {
        case .becameItem:
            context.step(.noted)
            context.changes.send(.became(draft, item))
        default: await withdraw(item, of: draft)
        }
    }

    private func take(_ refusal: DeliveryRefusal, of draft: Draft) async {
        // The name is logged at debug level only; 'chatfs status' has it.
        context.log.warning("file not sent: chat=\(draft.chat) error=\(refusal.sentence)")
        await refuse(refusal, draft)
    }

    private func refuse(_ refusal: DeliveryRefusal, _ draft: Draft) async {
        let reply = await ThreadPool.shared.run { draft.tell(.refused(refusal)) }
        if case .retryDelivery(let tries) = reply, let delay = Self.policy.delay(beforeTry: tries + 1) {
            postpone(draft, by: delay)
        }
    }

    // MARK: - Withdrawal

    /// Withdraws a draft that was removed when the core might have it, so that recipients do not get it.
    private func takeBack(_ draft: Draft) async {
        do throws(ChatError) {
            if let item = try await core.item(sentAs: draft.machine.record.message, in: draft.chat) {
                await take(item, of: draft)
            } else {
                await noteTakenBack(draft)
            }
        } catch {
            context.log.notice("item of a removed file not looked up: error=\(error.sentence)")
            await endTakingBack(draft, after: error)
        }
    }

    private func withdraw(_ item: ChatItem, of draft: Draft) async {
        do throws(ChatError) {
            if let file = item.file { try await core.cancelFile(file.id) }
        } catch {
            context.log.notice("transfer of a removed file not cancelled: error=\(error.sentence)")
        }
        do throws(ChatError) {
            try await core.deleteItems([item.id], in: item.chat, mode: .broadcast)
            await noteTakenBack(draft)
        } catch {
            context.log.notice("message of a removed file not deleted: error=\(error.sentence)")
            await endTakingBack(draft, after: error)
        }
    }

    /// Retries after temporary errors. Failing to ask the core proves nothing about its items.
    private func endTakingBack(_ draft: Draft, after error: ChatError) async {
        if case .retry = DeliveryRefusal(error).consequence {
            await refuse(DeliveryRefusal(beforehand: error), draft)
        } else {
            await noteTakenBack(draft)
        }
    }

    private func noteTakenBack(_ draft: Draft) async {
        await ThreadPool.shared.run { _ = draft.tell(.takenBack) }
    }

    // MARK: - Retries

    /// Retries temporarily refused drafts at once.
    func retryPostponed() {
        let drafts = postponed.withLock { postponed in
            defer { postponed = [] }
            return postponed
        }
        retry(drafts)
    }

    private func postpone(_ draft: Draft, by delay: Duration) {
        postponed.withLock { _ = $0.insert(draft) }
        clock.call(after: delay) { [weak self] in
            guard let self, postponed.withLock({ $0.remove(draft) }) != nil else { return }
            retry([draft])
        }
    }

    private func retry(_ drafts: Set<Draft>) {
        ThreadPool.shared.submit {
            for draft in drafts { draft.tell(.backoffOver) }
            self.context.deliveries.notify(Set(drafts.map(\.chat)))
        }
    }
}
