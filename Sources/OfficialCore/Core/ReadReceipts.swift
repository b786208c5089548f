import Base
import ChatCore
import CoreServices

/// Marks a message as read when its file is opened. The core then starts the timer of a disappearing message
/// and no longer counts it as unread.
final class ReadReceipts: Sendable {
    private struct State {
        /// Items whose file was opened in this mount.
        var opened: Set<ItemID> = []
        /// Opened items that could not be reported to the core yet.
        var unreported: Set<ItemID> = []
    }

    private let connection: CoreConnection
    private let index: IndexStore
    private let state = Lock(State())
    private let reports = WorkQueue<ItemID>()

    init(_ connection: CoreConnection, _ index: IndexStore) {
        self.connection = connection
        self.index = index
        reports.begin { [weak self] item in
            await self?.report(item)
            return .idle
        }
    }

    /// Returns at once.
    func noteOpened(_ item: ItemID) {
        guard state.withLock({ $0.opened.insert(item).inserted }) else { return }
        reports.wake(item)
    }

    /// Reports files opened while the core was disconnected. Returns at once.
    func reportOpened() {
        let items = state.withLock { state in
            defer { state.unreported = [] }
            return state.unreported
        }
        for item in items { reports.wake(item) }
    }

    /// Waits, at most `limit`, until running reports have ended. The next mount repeats a report whose answer was not
    /// recorded.
    func wait(limit: Duration) async {
        guard connection.isConnected else { return }
        _ = await reports.rest(until: .now + limit)
    }

    /// True if the core was disconnected.
    func isUnreported(_ item: ItemID) -> Bool { state.withLock { $0.unreported.contains(item) } }

    /// True if the file was opened in this mount.
    func isOpened(_ item: ItemID) -> Bool { state.withLock { $0.opened.contains(item) } }

    /// Reports each item once, also over several mounts, in the background.
    private func report(_ item: ItemID) async {
        do throws(ChatError) {
            let text = try await index.reading { try $0.items.unreadReference(of: item) }
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
            log.information("message not marked as read: error=\(error.sentence)")
        }
    }
}
