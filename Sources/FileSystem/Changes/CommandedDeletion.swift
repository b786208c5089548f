import ChatCore
import Namespace
import Outbox
import Posix

/// Deletes items on a command's request: first in the core, then their entries. Stateless; thread-safe.
struct CommandedDeletion: Sendable {
    let names: Namespace
    let core: any ChatCore
    let contents: any ContentStore
    let outbox: any DraftStore
    let tree: TreeUpdater

    /// Deletes the items and returns after their entries are removed.
    /// - Parameter items: Items of one chat.
    /// - Throws: `ChatError` of the core, or the error of the outbox or the index.
    func delete(_ items: [ChatItem], mode: DeletionMode) async throws {
        if items.contains(where: { $0.direction == .sent }) {
            try await ThreadPool.shared.run { [outbox] () throws(OutboxError) in try outbox.synchronise() }
        }
        try await core.delete(items, mode: mode)
        for item in items { if let file = item.file { contents.remove(file.id, atOnce: false) } }
        try await tree.change { [names] in try names.remove(items.map(\.id)) }
    }
}
