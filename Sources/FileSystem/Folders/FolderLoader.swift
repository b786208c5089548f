import Base
import ChatCore
import Glibc
import Namespace
import Posix

/// Loads the files of chats from the core into memory on demand.
///
/// A mount begins with the names of its chats, and `ItemMemory` evicts unused entries. Lookups of unknown names,
/// listings and lookups by inode number wait until their chat is loaded, some milliseconds for a thousand files. No
/// request waits for another chat. The chats with the newest messages are loaded ahead when the mount begins, as many
/// as fit. Thread-safe.
final class FolderLoader: Sendable {
    private struct State {
        /// Running loads. A task returns false if the chat has more files than its limit.
        var underWay: [ChatReference: Task<Bool, any Error>] = [:]
        /// Chats whose newest files have names in the index.
        var current: Set<ChatReference> = []
        /// Chats whose first listing is in the log.
        var listed: Set<ChatReference> = []
        /// The task that loads chats ahead of requests.
        var ahead: Task<Void, Never>?
    }

    private let names: Namespace
    private let core: any ChatCore
    private let kernel: KernelConnection
    private let memory: ItemMemory
    /// Maximum wait for one chat's files.
    private let deadline: Duration
    private let state = Lock(State())
    private let log = Log("filesystem")

    private static let largestPage = 500
    private static let smallestPage = 16

    init(
        names: Namespace, core: any ChatCore, kernel: KernelConnection, memory: ItemMemory, deadline: Duration
    ) {
        self.names = names
        self.core = core
        self.kernel = kernel
        self.memory = memory
        self.deadline = deadline
    }

    // MARK: - Access

    /// Runs `body` once all names of the folder are in memory. Answers ETIMEDOUT if loading exceeds the deadline; the
    /// loading continues.
    func whenLoaded<Value: Sendable>(
        _ folder: NodeID, _ body: @escaping @Sendable () -> Answer<Value>
    ) -> Answer<Value> {
        if let period = names.periodOfCompleteness(folder) {
            let answer = body()
            // The folder was evicted meanwhile, so the missing name may exist.
            guard answer.isRefused(with: ENOENT), names.periodOfCompleteness(folder) != period else {
                return answer
            }
        }
        guard case .chat(let chat) = names.node(folder)?.content else { return body() }
        return .later { [self] in
            if let error = await load(chat.reference, within: deadline) { return .failure(error) }
            return await whenLoaded(folder, body).result()
        }
    }

    /// Runs `body` for a node, after loading its folder if its inode number is not in memory.
    func whenKnown<Value: Sendable>(
        _ id: NodeID, _ body: @escaping @Sendable () -> Answer<Value>
    ) -> Answer<Value> {
        let answer = body()
        guard id >= .firstStored, answer.isRefused(with: ESTALE) else { return answer }
        return .later { [self] in
            do {
                let chat = try await ThreadPool.shared.run { [names] in try names.chat(holding: id) }
                guard let chat, let folder = names.node(of: chat)?.id else { return await body().result() }
                if let error = await load(chat, within: deadline) { return .failure(error) }
                return await whenLoaded(folder) { body() }.result()
            } catch {
                return .failure(FileSystemError(error))
            }
        }
    }

    /// Loads all that `list` needs of a folder.
    func prepare(_ folder: NodeID) -> Answer<Void> {
        whenLoaded(folder) { [self] in
            memory.use(folder)
            logListing(folder)
            return .done(())
        }
    }

    /// Logs the first listing of a chat.
    private func logListing(_ folder: NodeID) {
        guard Log.isOn(.info), case .chat(let chat) = names.node(folder)?.content,
            state.withLock({ $0.listed.insert(chat.reference).inserted })
        else { return }
        log.information("chat opened: chat=\(chat.reference)")
    }

    private func load(_ chat: ChatReference, within limit: Duration) async -> FileSystemError? {
        guard let folder = names.node(of: chat)?.id, !names.isComplete(folder) else { return nil }
        return switch await loading(chat).result(within: limit) {
        case .success(true): nil
        case .success(false): await load(chat, within: limit)
        case .failure(let error): FileSystemError(error)
        case nil where Task.isCancelled: FileSystemError(EINTR)
        case nil: FileSystemError(ETIMEDOUT, isFailure: true)
        }
    }

    // MARK: - One chat

    /// Returns once the chat's files are in memory; at once if the chat has no folder.
    func load(_ chat: ChatReference) async throws {
        while let folder = names.node(of: chat)?.id, !names.isComplete(folder) {
            if try await loading(chat).value { return }
        }
    }

    /// Returns the running load or starts one. A caller that gives up does not cancel it.
    private func loading(_ chat: ChatReference) -> Task<Bool, any Error> {
        loading(chat) { folder in
            guard try await self.show(chat, in: folder, limit: nil) else { return false }
            self.memory.use(folder)
            return true
        }
    }

    private func loading(
        _ chat: ChatReference, _ show: @escaping @Sendable (NodeID) async throws -> Bool
    ) -> Task<Bool, any Error> {
        state.withLock { state in
            if let task = state.underWay[chat] { return task }
            let task = Task {
                defer { self.state.withLock { $0.underWay[chat] = nil } }
                guard let folder = self.names.node(of: chat)?.id, !self.names.isComplete(folder) else {
                    return true
                }
                return try await show(folder)
            }
            state.underWay[chat] = task
            return task
        }
    }

    /// Shows a chat's files.
    /// - Parameter limit: Maximum number of files. Shows nothing and returns false if there are more.
    private func show(_ chat: ChatReference, in folder: NodeID, limit: Int?) async throws -> Bool {
        // The index and the core are read concurrently.
        async let reading = ThreadPool.shared.run { [names] in
            try names.knownNames(of: chat, limit: limit ?? .max - 1)
        }
        guard let items = try await items(of: chat, limit: limit) else { return false }
        let (known, before) = (try await reading, names.modified(folder: folder))
        try await ThreadPool.shared.run { [names] in try names.complete(chat, with: items, known: known) }
        state.withLock { _ = $0.current.insert(chat) }
        if names.modified(folder: folder) != before { kernel.notify(.attributes(folder)) }
        return true
    }

    /// Returns items, oldest first, or nil if there are more than `limit`.
    private func items(of chat: ChatReference, limit: Int?) async throws -> [ChatItem]? {
        var items: [ChatItem] = []
        while true {
            let count = min(Self.largestPage, (limit ?? .max - 1) + 1 - items.count)
            guard count > 0 else { return nil }
            let page = try await core.items(of: chat, before: items.last?.id, count: count)
            if page.isEmpty { return items.reversed() }
            items += page
        }
    }

    // MARK: - Ahead

    /// Loads chats ahead of requests, newest messages first, until about `limit` items are in memory. Loads one chat at
    /// a time and skips chats that do not fit. Bounds wasted reads too. Called once.
    func loadAhead(_ chats: [Chat], limit: Int) {
        let newestFirst = chats.sorted { $0.updatedAt > $1.updatedAt }.map(\.reference)
        let task = Task {
            // Items that may be read without effect.
            var readable = 2 * limit
            for chat in newestFirst {
                let capacity = limit - names.itemCount
                guard capacity > limit / 16, capacity <= readable, !Task.isCancelled else { return }
                // A failure is reported by the next lookup in the chat.
                let isLoaded = await loading(chat) { folder in
                    guard try await self.show(chat, in: folder, limit: capacity) else { return false }
                    self.memory.keep(folder)
                    return true
                }.result
                if case .success(false) = isLoaded { readable -= capacity }
            }
        }
        state.withLock { $0.ahead = task }
    }

    // MARK: - Events

    /// Returns once an event of the chat may change the tree. Waits for a running load, which may have read the core
    /// before the event. Loads nothing else, except that the first call of a mount names the items that arrived while
    /// unmounted. The older of two equally named files thus gets the name.
    func settle(_ chat: ChatReference) async throws {
        let (task, isCurrent) = state.withLock { ($0.underWay[chat], $0.current.contains(chat)) }
        // A failure is reported by the next lookup in the chat.
        if let task { _ = await task.result }
        guard !isCurrent, let folder = names.node(of: chat)?.id, !names.isComplete(folder) else { return }
        let items = try await unnamedItems(of: chat)
        _ = try await ThreadPool.shared.run { [names] in try names.show(items) }
        state.withLock { _ = $0.current.insert(chat) }
    }

    /// Returns the chat's newest items down to the first that has a name, oldest first.
    private func unnamedItems(of chat: ChatReference) async throws -> [ChatItem] {
        var items: [ChatItem] = []
        var count = Self.smallestPage
        while true {
            let page = try await core.items(of: chat, before: items.last?.id, count: count)
            items += page
            guard let oldest = page.last,
                try await ThreadPool.shared.run({ [names] in try names.id(of: oldest.id) }) == nil
            else { return items.reversed() }
            count = min(2 * count, Self.largestPage)
        }
    }

    /// Returns once no chat is loading.
    func finish() async {
        let ahead = state.withLock { $0.ahead }
        ahead?.cancel()
        await ahead?.value
        while let task = state.withLock({ $0.underWay.values.first }) { _ = await task.result }
    }
}

extension Answer {
    fileprivate func isRefused(with code: Int32) -> Bool {
        if case .now(.failure(let error)) = self { error.code == code } else { false }
    }
}
