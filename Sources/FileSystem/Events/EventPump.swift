import Base
import ChatCore
import Hydration
import Namespace
import Outbox
import Posix

/// Something that happened without anybody touching the mount, and that changes the tree.
enum TreeEvent: Sendable {
    case core(ChatEvent)
    case draft(DraftChange)
    /// A file was sent past the mount.
    case sent(ChatItem)
}

/// Takes in what happens without anybody touching the mount: messages come and go, transfers move, drafts become
/// messages. One event after the other; those of a chat in their order. What cannot be taken in at present (the
/// index is busy, its disk is full, the core does not say what a chat holds) is tried again until it can, and holds
/// up its own chat only.
public final class EventPump: Sendable {
    /// Events of one chat change the same names; those of the core itself concern none.
    private enum Lane: Hashable {
        case chat(ChatReference)
        case core
    }

    private struct Tasks {
        var outbox: Task<Void, Never>?
        var others: [Task<Void, Never>] = []
        var worker: Task<Void, Never>?
        var alarm: Task<Void, Never>?
    }

    private let core: any ChatCore
    private let outbox: any DraftStore
    private let coreEvents: CoreEvents
    private let draftEvents: DraftEvents
    private let contentNotices: ContentNotices
    private let loader: FolderLoader
    private let log = Log("filesystem")

    private let queue = Lock(EventQueue<Lane, TreeEvent>(retrying: retryPolicy))
    private let tasks = Lock(Tasks())
    /// One element says that there may be something to do.
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    private static let retryPolicy = RetryPolicy(
        first: .milliseconds(100), maxDelay: .seconds(30), tries: .max)

    init(
        core: any ChatCore, outbox: any DraftStore, coreEvents: CoreEvents, draftEvents: DraftEvents,
        contentNotices: ContentNotices, loader: FolderLoader
    ) {
        self.core = core
        self.outbox = outbox
        self.coreEvents = coreEvents
        self.draftEvents = draftEvents
        self.contentNotices = contentNotices
        self.loader = loader
        (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - Beginning and end

    /// Collects events from now on. Before anybody looks at what there is, so that nothing falls between.
    func open() {
        let (events, changes, notices) = (core.events(), outbox.draftChanges(), contentNotices.changes())
        tasks.withLock { tasks in
            tasks.outbox = Task { for await change in changes { self.add(.draft(change)) } }
            tasks.others = [
                Task { for await event in events { self.add(.core(event)) } },
                Task { for await change in notices { await self.contentNotices.tell(change) } },
            ]
        }
    }

    /// Takes in what was collected, and what comes.
    func start() {
        tasks.withLock { $0.worker = Task { await self.run() } }
    }

    /// Takes in what has come and stops; what cannot be taken in now, the next mount finds. The outbox must have
    /// been shut down: what it handed over last then still gets its name in the index.
    public func finish() async {
        let tasks = tasks.withLock { $0 }
        await tasks.outbox?.value
        for task in tasks.others { task.cancel() }
        wake.finish()
        await tasks.worker?.value
        await loader.finish()
    }

    func add(_ event: TreeEvent) {
        let parts: [(Lane, TreeEvent)] =
            switch event {
            case .core(let event): event.parts.map { ($0.chat.map(Lane.chat) ?? .core, .core($0.event)) }
            case .draft(let change): [(.chat(change.draft.chat), event)]
            case .sent(let item): [(.chat(item.chat), event)]
            }
        queue.withLock { queue in
            for (lane, event) in parts { queue.add(event, in: lane) }
        }
        wake.yield()
    }

    // MARK: - One event after the other

    private func run() async {
        for await _ in wakes {
            while let event = queue.withLock({ $0.next(at: .now) }) { await take(event, isLast: false) }
            if let time = queue.withLock({ $0.nextTry }) { wake(at: time) }
        }
        tasks.withLock { $0.alarm }?.cancel()
        queue.withLock { $0.endDelays(at: .now) }
        while let event = queue.withLock({ $0.next(at: .now) }) { await take(event, isLast: true) }
    }

    private func wake(at time: ContinuousClock.Instant) {
        let alarm = Task {
            // Cancelled: another alarm takes its place.
            guard (try? await Task.sleep(until: time, clock: .continuous)) != nil else { return }
            wake.yield()
        }
        let earlier = tasks.withLock { tasks in
            defer { tasks.alarm = alarm }
            return tasks.alarm
        }
        earlier?.cancel()
    }

    /// - Parameter isLast: nothing is tried again.
    private func take(_ event: TreeEvent, isLast: Bool) async {
        do {
            switch event {
            case .core(let event): try await coreEvents.take(event)
            case .draft(let change): try await draftEvents.take(change)
            case .sent(let item): try await coreEvents.wasSent(item)
            }
            queue.withLock { $0.succeeded() }
        } catch  where isLast || error.neverPasses {
            queue.withLock { $0.succeeded() }
            // The next mount finds it; until then the entry shows what it showed.
            log.error("a change could not be shown: \(Base.sentence(of: error))")
        } catch {
            let failures = queue.withLock { $0.failed(at: .now) }
            guard failures == 1 else { return }
            log.warning("a change cannot be shown yet and is tried again: \(Base.sentence(of: error))")
        }
    }
}

extension Error {
    /// The same event would meet it again, whenever it is tried.
    fileprivate var neverPasses: Bool {
        switch self {
        case let error as NamespaceError: [.nameTaken, .noSuchNode, .damaged].contains(error.code)
        case let error as ChatError: [.noSuchChat, .noSuchItem, .noSuchFile].contains(error.code)
        default: false
        }
    }
}

extension ChatEvent {
    /// The same by chats; nil for what concerns the core itself.
    fileprivate var parts: [(chat: ChatReference?, event: ChatEvent)] {
        switch self {
        case .newChatItems(let items):
            return Dictionary(grouping: items, by: \.chat).map { ($0, .newChatItems($1)) }
        case .chatItemsDeleted(let items, let reason):
            return Dictionary(grouping: items, by: \.chat).map { ($0, .chatItemsDeleted($1, reason)) }
        case .chatUpdated(let chat): return [(chat.reference, self)]
        case .chatRemoved(let chat), .messageLogGrew(let chat, _): return [(chat, self)]
        case .rcvFileProgressXFTP(let progress), .sndFileProgressXFTP(let progress):
            return [(progress.chat, self)]
        case .coreUnreachable, .coreReachable, .serverRefused, .requestsChanged, .textArrived,
            .sndStandaloneFileComplete, .rcvStandaloneFileComplete,
            .sndStandaloneFileError, .rcvStandaloneFileError, .standaloneFileProgress, .standaloneFileWarning:
            return [(nil, self)]
        default:
            return [(changedItem?.chat, self)]
        }
    }

    /// The item of which an event tells that its message or its file is another now.
    public var changedItem: ChatItem? {
        switch self {
        case .chatItemUpdated(let item), .rcvFileDescrReady(let item), .rcvFileAccepted(let item),
            .rcvFileStart(let item), .rcvFileComplete(let item), .rcvFileSndCancelled(let item),
            .rcvFileError(let item, _), .rcvFileWarning(let item, _), .sndFileStart(let item),
            .sndFileCompleteXFTP(let item), .sndFileComplete(let item), .sndFileRcvCancelled(let item),
            .sndFileError(let item, _), .sndFileWarning(let item, _):
            item
        case .newChatItems, .chatItemsDeleted, .chatUpdated, .chatRemoved, .messageLogGrew,
            .rcvFileProgressXFTP, .sndFileProgressXFTP, .coreUnreachable, .coreReachable,
            .serverRefused, .requestsChanged, .textArrived, .sndStandaloneFileComplete,
            .rcvStandaloneFileComplete, .sndStandaloneFileError,
            .rcvStandaloneFileError, .standaloneFileProgress, .standaloneFileWarning:
            nil
        }
    }
}
