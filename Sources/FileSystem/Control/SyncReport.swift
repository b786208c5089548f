import Base
import ChatCore
import Namespace
import Posix

/// Counts the unfinished entries. Asks the core once for each change of the tree, however many programs ask, and loads
/// no chat. Thread-safe.
final class SyncReport: Sendable {
    private struct Count {
        let version: UInt64
        let task: Task<(status: SyncStatus, isComplete: Bool), Never>
    }

    private let names: Namespace
    private let contents: any ContentStore
    private let core: any ChatCore
    private let nodes: NodeLookup
    private let entries: EntryReporter
    private let changes: TreeAnnouncer
    /// The last or running count of items.
    private let items = Lock<Count?>(nil)
    private let log = Log("filesystem")

    init(
        names: Namespace, contents: any ContentStore, core: any ChatCore, nodes: NodeLookup,
        entries: EntryReporter, changes: TreeAnnouncer
    ) {
        (self.names, self.contents, self.core) = (names, contents, core)
        (self.nodes, self.entries, self.changes) = (nodes, entries, changes)
    }

    func status(coreProblem: String?) async -> SyncStatus {
        var status = SyncStatus()
        status.coreProblem = coreProblem
        // In memory, and few.
        for node in names.drafts + nodes.pasted.roots {
            if let report = entries.report(on: node) { status.add(report) }
        }
        status.add(await itemStatus())
        // Not counted with the items, because it changes without them.
        status.nextTry = status.problemItem.flatMap { entries.report(on: $0)?.nextTry }
        return status
    }

    private func itemStatus() async -> SyncStatus {
        // Read before the count: a change during it has a higher number.
        let version = changes.version
        let task = items.withLock { count in
            if let count, count.version >= version { return count.task }
            let task = Task { await self.countItems() }
            count = Count(version: version, task: task)
            return task
        }
        let result = await task.value
        // The next request asks the core again.
        if !result.isComplete { items.withLock { $0 = nil } }
        return result.status
    }

    /// Returns an incomplete status if the core fails.
    private func countItems() async -> (status: SyncStatus, isComplete: Bool) {
        var items = contents.present()
        var isComplete = true
        do throws(ChatError) {
            let known = Set(items.map(\.id))
            items += try await core.unsettledItems().filter { !known.contains($0.id) }
        } catch {
            log.warning("unsettled items not listed: error=\(error.sentence)")
            isComplete = false
        }
        var status = SyncStatus()
        for item in items.sorted(by: { $0.id < $1.id }) where names.node(of: item.chat) != nil {
            if let report = entries.report(on: item) { status.add(report, of: item) }
        }
        return (status, isComplete)
    }
}
