import ChatCore
import Namespace
import Outbox
import Posix

/// Deletes items that a command names: the core deletes them, then their entries go without the kernel's doing. Has no
/// state of its own. Any thread.
struct CommandedDeletion: Sendable {
    let names: Namespace
    let core: any ChatCore
    let contents: any ContentStore
    let outbox: any DraftStore
    let tree: TreeUpdater

    /// Returns when their entries are gone.
    /// - Parameter items: of one chat.
    /// - Throws: `ChatError` of the core; what outbox or index answer.
    func delete(_ items: [ChatItem], mode: DeletionMode) async throws {
        if items.contains(where: { $0.direction == .sent }) {
            try await ThreadPool.shared.run { [outbox] () throws(OutboxError) in try outbox.synchronise() }
        }
        try await core.delete(items, mode: mode)
        for item in items { if let file = item.file { contents.remove(file.id, atOnce: false) } }
        try await tree.change { [names] in try names.remove(items.map(\.id)) }
    }
}
