import Base
import ChatCore
import Glibc
import Namespace
import Posix

/// Brings the files of chats from the core into the tree.
///
/// A mount begins with the names of its chats alone. The files of one are loaded when somebody looks into its
/// folder or news of it comes, and those of all others, one chat after the other, in the background: so a
/// mount of a hundred thousand files is there as soon as one of ten. Until a chat is loaded, whoever asks for a
/// name in it that is not known, or for a listing, waits for that; events of it wait too, so that what is
/// older never overwrites them. Any thread.
final class FolderLoader: Sendable {
    private let names: Namespace
    private let core: any ChatCore
    private let kernel: KernelConnection
    /// Longest wait for the files of one chat.
    private let deadline: Duration
    private let log = Log("filesystem")
    /// Chats that are being loaded.
    private let underWay = Lock<[ChatReference: Task<Void, any Error>]>([:])
    private let background = Lock<Task<Void, Never>?>(nil)

    private static let pageOfItems = 500

    init(names: Namespace, core: any ChatCore, kernel: KernelConnection, deadline: Duration) {
        self.names = names
        self.core = core
        self.kernel = kernel
        self.deadline = deadline
    }

    // MARK: - One chat

    /// Returns when the files of a chat are shown. At once for one that has no folder.
    func load(_ chat: ChatReference) async throws {
        guard let folder = names.node(of: chat)?.id, !names.isComplete(folder) else { return }
        try await loading(chat).value
    }

    /// What `body` answers, once everything in a folder is shown. ETIMEDOUT when this takes as long as a read
    /// may take; the loading goes on.
    func whenLoaded<Value: Sendable>(
        _ folder: NodeID, _ body: @escaping @Sendable () -> Answer<Value>
    ) -> Answer<Value> {
        guard !names.isComplete(folder), case .chat(let chat) = names.node(folder)?.content else {
            return body()
        }
        return .later { [self] in
            switch await loading(chat.reference).result(within: deadline) {
            case .success: await body().result()
            case .failure(let error): .failure(FileSystemError(error))
            case nil where Task.isCancelled: .failure(FileSystemError(EINTR))
            case nil: .failure(FileSystemError(ETIMEDOUT, isFailure: true))
            }
        }
    }

    /// Begun by the first who asks, ended for nobody who gives up.
    private func loading(_ chat: ChatReference) -> Task<Void, any Error> {
        underWay.withLock { underWay in
            if let task = underWay[chat] { return task }
            let task = Task {
                defer { self.underWay.withLock { $0[chat] = nil } }
                try await self.show(chat)
            }
            underWay[chat] = task
            return task
        }
    }

    private func show(_ chat: ChatReference) async throws {
        guard let folder = names.node(of: chat)?.id, !names.isComplete(folder) else { return }
        let items = try await items(of: chat)
        let before = names.modified(folder: folder)
        try await ThreadPool.shared.run { [names] in try names.complete(chat, with: items) }
        if names.modified(folder: folder) != before { kernel.notify(.attributes(folder)) }
    }

    /// Oldest first.
    private func items(of chat: ChatReference) async throws -> [ChatItem] {
        var items: [ChatItem] = []
        while true {
            let page = try await core.items(of: chat, before: items.last?.id, count: Self.pageOfItems)
            if page.isEmpty { return items.reversed() }
            items += page
        }
    }

    // MARK: - All chats

    /// Loads the files of these chats, one chat after the other. To be called once.
    func loadInBackground(_ chats: [ChatReference]) {
        background.withLock { background in
            background = Task(priority: .utility) { await self.load(chats) }
        }
    }

    private func load(_ chats: [ChatReference]) async {
        // One chat is read while the one before it is shown.
        var next = chats.first.map(loading)
        for chat in chats.dropFirst().map(Optional.some) + [nil] {
            let current = next
            next = Task.isCancelled ? nil : chat.map(loading)
            do {
                try await current?.value
            } catch {
                // Who looks into it has it loaded again, and is told.
                log.error("the files of a chat could not be read: \(Base.sentence(of: error))")
            }
        }
    }

    /// Returns when the files of all chats are shown, as far as they can be.
    func finish() async { await background.withLock { $0 }?.value }

    /// The same, for a while.
    func finish(within limit: Duration) async {
        _ = await background.withLock { $0 }?.result(within: limit)
    }

    /// No further chat is begun.
    func cancel() { background.withLock { $0 }?.cancel() }
}
