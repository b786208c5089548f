import Base
import ChatCore
import CoreServices

/// Opening a file is reading its message: the core then starts the time of a disappearing one, and counts it no
/// longer among the unread.
final class ReadReceipts: Sendable {
    private struct State {
        /// Items of which somebody opened the file in this mount.
        var opened: Set<ItemID> = []
        /// Of these, what could not be told to the core yet.
        var unreported: Set<ItemID> = []
    }

    private let connection: CoreConnection
    private let index: IndexStore
    private let state = Lock(State())

    init(_ connection: CoreConnection, _ index: IndexStore) {
        self.connection = connection
        self.index = index
    }

    /// Returns at once.
    func noteOpened(_ item: ItemID) {
        guard state.withLock({ $0.opened.insert(item).inserted }) else { return }
        Task { [weak self] in await self?.report(item) }
    }

    /// What was opened while the core was away. Returns at once.
    func reportOpened() {
        let items = state.withLock { state in
            defer { state.unreported = [] }
            return state.unreported
        }
        for item in items { Task { [weak self] in await self?.report(item) } }
    }

    /// The core was away when it was to be told.
    func isUnreported(_ item: ItemID) -> Bool { state.withLock { $0.unreported.contains(item) } }

    /// Somebody opened it in this mount.
    func isOpened(_ item: ItemID) -> Bool { state.withLock { $0.opened.contains(item) } }

    /// Once an item, over mounts too. In the background: nobody waits for it.
    private func report(_ item: ItemID) async {
        do throws(ChatError) {
            let text = try await blocking.run { [index] in
                try index.read { try $0.items.unreadReference(of: item) }
            }
            guard let text, let chat = APIChatReference(text: text) else { return }
            do throws(OfficialCoreError) {
                _ = try await connection.askInBackground(.markRead(chat, [item]))
            } catch {
                guard error.refusal == nil else { throw error.chatError }
                state.withLock { _ = $0.unreported.insert(item) }
                return
            }
            try await blocking.run { [index] in try index.write { try $0.items.noteRead(item) } }
        } catch {
            log.information("a message could not be marked as read: \(error.sentence)")
        }
    }
}
