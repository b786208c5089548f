import Base
import ChatCore
import Hydration
import Namespace
import Outbox
import Posix

/// A change of the tree that no request through this mount made.
enum TreeEvent: Sendable {
    case core(ChatEvent)
    case draft(DraftChange)
    /// The control process sent a file without the mount.
    case sent(ChatItem)
}

/// Applies events to the tree: new and deleted messages, transfer progress, drafts that became messages. Events are
/// applied one at a time, in order within a chat. A temporary failure (busy index, full disk, unreachable core) is
/// retried with backoff and delays only its own chat.
public final class EventPump: Sendable {
    /// Order is kept within a lane. Events of a chat change the same names; core events change none.
    private enum Lane: Hashable {
        case chat(ChatReference)
        case core
    }

    private struct State {
        var queue = EventQueue<Lane, TreeEvent>(retrying: EventPump.retryPolicy)
        var outbox: Task<Void, Never>?
        var others: [Task<Void, Never>] = []
        var worker: Task<Void, Never>?
    }

    private let core: any ChatCore
    private let outbox: any DraftStore
    private let coreEvents: CoreEvents
    private let draftEvents: DraftEvents
    private let contentNotices: ContentNotices
    private let loader: FolderLoader
    private let log = Log("filesystem")

    private let state = Lock(State())
    /// Wakes the worker.
    private let wakes = WorkSignal()

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
    }

    // MARK: - Lifecycle

    /// Collects events from now on. Called before the first tree is read, so that no event is lost.
    func open() {
        let (events, changes, notices) = (core.events(), outbox.draftChanges(), contentNotices.changes())
        state.withLock { state in
            state.outbox = Task { for await change in changes { self.add(.draft(change)) } }
            state.others = [
                Task { for await event in events { self.add(.core(event)) } },
                Task { for await change in notices { await self.contentNotices.tell(change) } },
            ]
        }
    }

    /// Starts to apply collected and new events.
    func start() {
        state.withLock { $0.worker = Task { await self.run() } }
    }

    /// Applies the collected events once and stops. The next mount finds events that could not be applied. The outbox
    /// must be shut down first, so that its last items get their names in the index.
    public func finish() async {
        let (outbox, others, worker) = state.withLock { ($0.outbox, $0.others, $0.worker) }
        await outbox?.value
        for task in others { task.cancel() }
        wakes.finish()
        await worker?.value
        await loader.finish()
    }

    func add(_ event: TreeEvent) {
        let parts: [(Lane, TreeEvent)] =
            switch event {
            case .core(let event): event.parts.map { ($0.chat.map(Lane.chat) ?? .core, .core($0.event)) }
            case .draft(let change): [(.chat(change.draft.chat), event)]
            case .sent(let item): [(.chat(item.chat), event)]
            }
        state.withLock { state in
            for (lane, event) in parts { state.queue.add(event, in: lane) }
        }
        wakes.notify()
    }

    // MARK: - Worker

    private func run() async {
        var alarm: Task<Void, Never>?
        for await _ in wakes.stream {
            while let event = state.withLock({ $0.queue.next(at: .now) }) { await take(event, isLast: false) }
            guard let time = state.withLock({ $0.queue.nextTry }) else { continue }
            alarm?.cancel()
            alarm = wake(at: time)
        }
        alarm?.cancel()
        state.withLock { $0.queue.endDelays(at: .now) }
        while let event = state.withLock({ $0.queue.next(at: .now) }) { await take(event, isLast: true) }
    }

    private func wake(at time: ContinuousClock.Instant) -> Task<Void, Never> {
        Task {
            // Cancelled when another alarm replaces this one.
            guard (try? await Task.sleep(until: time, clock: .continuous)) != nil else { return }
            wakes.notify()
        }
    }

    /// - Parameter isLast: If true, a failed event is not retried.
    private func take(_ event: TreeEvent, isLast: Bool) async {
        do {
            switch event {
            case .core(let event): try await coreEvents.take(event)
            case .draft(let change): try await draftEvents.take(change)
            case .sent(let item): try await coreEvents.wasSent(item)
            }
            state.withLock { $0.queue.succeeded() }
        } catch  where isLast || error.neverPasses {
            state.withLock { $0.queue.succeeded() }
            // The next mount applies it; until then the entry keeps its old state.
            log.error("event not applied: error=\(Base.sentence(of: error))")
        } catch {
            let failures = state.withLock { $0.queue.failed(at: .now) }
            guard failures == 1 else { return }
            log.warning("event not applied yet, retrying: error=\(Base.sentence(of: error))")
        }
    }
}

extension Error {
    /// True if a retry of the event cannot succeed.
    fileprivate var neverPasses: Bool {
        switch self {
        case let error as NamespaceError: [.nameTaken, .noSuchNode, .damaged].contains(error.code)
        case let error as ChatError: [.noSuchChat, .noSuchItem, .noSuchFile].contains(error.code)
        default: false
        }
    }
}

extension ChatEvent {
    /// The event split by chat; the chat is nil for events of the core itself.
    fileprivate var parts: [(chat: ChatReference?, event: ChatEvent)] {
        switch self {
        case .newChatItems(let items):
            return Dictionary(grouping: items, by: \.chat).map { ($0, .newChatItems($1)) }
        case .chatItemsDeleted(let items, let reason):
            return Dictionary(grouping: items, by: \.chat).map { ($0, .chatItemsDeleted($1, reason)) }
        case .chatUpdated(let chat): return [(chat.reference, self)]
        case .chatRemoved(let chat), .messageLogGrew(let chat, _): return [(chat, self)]
        case .itemChanged(let item, _): return [(item.chat, self)]
        case .fileProgress(let progress): return [(progress.chat, self)]
        case .coreUnreachable, .coreReachable, .serverRefused, .requestsChanged, .textArrived, .textsGone,
            .sndStandaloneFileComplete, .rcvStandaloneFileComplete,
            .sndStandaloneFileError, .rcvStandaloneFileError, .standaloneFileProgress, .standaloneFileWarning:
            return [(nil, self)]
        }
    }
}
