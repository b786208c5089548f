import Base
import ChatCore
import Glibc
import Namespace
import Posix

/// Brings the files of chats from the core into memory when somebody looks.
///
/// A mount begins with the names of its chats alone, and `ItemMemory` lets go of what nobody uses. Until a chat is
/// loaded, whoever asks for a name in it that is not known, for a listing, or for a node by its number waits for that,
/// some milliseconds for a thousand files; nobody waits for another chat. So that hardly anybody waits, the chats with
/// the newest messages are loaded when the mount begins, as many as fit. Any thread.
final class FolderLoader: Sendable {
    private struct State {
        /// Chats that are being loaded. False from one that had more files than it was to have.
        var underWay: [ChatReference: Task<Bool, any Error>] = [:]
        /// Chats whose newest files have their names.
        var current: Set<ChatReference> = []
        /// Loads what nobody has asked for yet.
        var ahead: Task<Void, Never>?
    }

    private let names: Namespace
    private let core: any ChatCore
    private let kernel: KernelConnection
    private let memory: ItemMemory
    /// Longest wait for the files of one chat.
    private let deadline: Duration
    private let state = Lock(State())

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

    // MARK: - Who looks

    /// What `body` answers about names in a folder, once all of them are in memory. ETIMEDOUT when this takes as long
    /// as a read may take; the loading goes on.
    func whenLoaded<Value: Sendable>(
        _ folder: NodeID, _ body: @escaping @Sendable () -> Answer<Value>
    ) -> Answer<Value> {
        if let period = names.periodOfCompleteness(folder) {
            let answer = body()
            // Let go meanwhile: what was not found may be there.
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

    /// What `body` answers about a node, which is loaded with its folder when its number is not in memory.
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

    /// All that a folder holds, as far as `list` gives it from memory.
    func prepare(_ folder: NodeID) -> Answer<Void> {
        whenLoaded(folder) { [memory] in
            memory.use(folder)
            return .done(())
        }
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

    /// Returns when the files of a chat are in memory. At once for one that has no folder.
    func load(_ chat: ChatReference) async throws {
        while let folder = names.node(of: chat)?.id, !names.isComplete(folder) {
            if try await loading(chat).value { return }
        }
    }

    /// Begun by the first who asks, ended for nobody who gives up.
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

    /// - Parameter limit: nothing is shown, and false returned, where there are more files.
    private func show(_ chat: ChatReference, in folder: NodeID, limit: Int?) async throws -> Bool {
        // The index is read while the core is.
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

    /// Oldest first; nil where there are more than `limit`.
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

    /// Loads chats that nobody has asked for, those with the newest messages first, until there are about `limit` items
    /// in memory. Chats are loaded one at a time, and a chat whose files do not all fit is skipped. Wasted reads are
    /// bounded too. To be called once.
    func loadAhead(_ chats: [Chat], limit: Int) {
        let newestFirst = chats.sorted { $0.updatedAt > $1.updatedAt }.map(\.reference)
        let task = Task {
            // Items that may be read in vain.
            var readable = 2 * limit
            for chat in newestFirst {
                let capacity = limit - names.itemCount
                guard capacity > limit / 16, capacity <= readable, !Task.isCancelled else { return }
                // Why one could not be loaded is told to who looks into it.
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

    /// Returns when an event of a chat may change the tree: a loading that is under way may have looked at the core
    /// before it, so that comes first. Nothing is loaded for an event, but once in a mount what came while nothing was
    /// mounted gets its names, so that the earlier of two files of one name has the name.
    func settle(_ chat: ChatReference) async throws {
        let (task, isCurrent) = state.withLock { ($0.underWay[chat], $0.current.contains(chat)) }
        // Whoever looks is told why it failed.
        if let task { _ = await task.result }
        guard !isCurrent, let folder = names.node(of: chat)?.id, !names.isComplete(folder) else { return }
        let items = try await unnamedItems(of: chat)
        _ = try await ThreadPool.shared.run { [names] in try names.show(items) }
        state.withLock { _ = $0.current.insert(chat) }
    }

    /// The newest items of a chat, down to the first that has a name. Oldest first.
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

    /// Returns when no chat is being loaded.
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
