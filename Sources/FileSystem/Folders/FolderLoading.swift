import Base
import ChatCore
import Glibc
import Namespace
import Posix

extension FileSystem {
    private static let pageOfItems = 500

    /// Reads the files of all chats, those first that have the newest.
    func readInBackground(_ chats: [ChatReference]) {
        reading.begin { [self] in
            // One chat is read while the one before it is shown.
            var next = chats.first.map(read)
            for chat in chats.dropFirst().map(Optional.some) + [nil] {
                let current = next
                next = Task.isCancelled ? nil : chat.map(read)
                do {
                    try await current?.value
                } catch {
                    // Who looks into it has it read again, and is told.
                    log.error("the files of a chat could not be read: \(Base.sentence(of: error))")
                }
            }
        }
    }

    /// Returns when every file is shown that there was when the mount began.
    public func everythingShown() async { await reading.finish() }

    /// Returns when the files of a chat are shown. At once for one that has no folder.
    func shown(_ chat: ChatReference) async throws {
        guard let folder = names.node(of: chat)?.id, !names.isComplete(folder) else { return }
        try await read(chat).value
    }

    /// What `body` answers, once everything in a folder is shown. ETIMEDOUT when this takes as long as a read
    /// may take; the reading goes on.
    func whenShown<Value: Sendable>(
        _ folder: NodeID, _ body: @escaping @Sendable () -> Answer<Value>
    ) -> Answer<Value> {
        guard !names.isComplete(folder), case .chat(let chat) = names.node(folder)?.content else {
            return body()
        }
        return .later { [self] in
            switch await read(chat.reference).result(within: settings.readDeadline) {
            case .success: break
            case .failure(let error): return .failure(FileSystemError(error))
            case nil where Task.isCancelled: return .failure(FileSystemError(EINTR))
            case nil: return .failure(FileSystemError(ETIMEDOUT, isFailure: true))
            }
            switch body() {
            case .now(let result): return result
            case .later(let work): return await work()
            }
        }
    }

    private func read(_ chat: ChatReference) -> Task<Void, any Error> {
        reading.work(on: chat) { [self] in
            guard let folder = names.node(of: chat)?.id, !names.isComplete(folder) else { return }
            let items = try await items(of: chat)
            let before = names.modified(folder: folder)
            try await ThreadPool.shared.run { try self.names.complete(chat, with: items) }
            if names.modified(folder: folder) != before { notify(.attributes(folder)) }
        }
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
}
