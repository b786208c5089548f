import FileSystem
import Namespace

/// Pending notices to watchers. If a folder has too many, they are replaced by one `lookAgain`. A pure value.
struct WatcherQueue: Sendable {
    /// Of the order of a watcher's queue in the kernel (`fs.inotify.max_queued_events`).
    static let usualLimit = 16_384

    private let limit: Int
    private var waiting: [WatcherNotice?] = []
    private var head = 0
    /// Nodes with a pending change.
    private var changed: Set<NodeID> = []
    private var crowded: Set<NodeID> = []

    init(limit: Int = usualLimit) { self.limit = limit }

    mutating func add(_ notice: WatcherNotice) {
        if crowded.contains(notice.folder) { return }
        guard waiting.count - head < limit else {
            crowded.insert(notice.folder)
            return
        }
        if case .changed(let node) = notice, !changed.insert(node.id).inserted { return }
        waiting.append(notice)
    }

    /// Removes and returns the first notice of a folder that is not among `busy`.
    mutating func next(except busy: Set<NodeID> = []) -> WatcherNotice? {
        let isFree = { (notice: WatcherNotice?) in notice.map { !busy.contains($0.folder) } ?? false }
        guard let place = waiting[head...].firstIndex(where: isFree) else {
            let folder = crowded.first { !busy.contains($0) }
            return folder.flatMap { crowded.remove($0) }.map { .lookAgain($0) }
        }
        let notice = waiting[place]
        // Releases the node now, not when the queue is empty.
        waiting[place] = nil
        while head < waiting.count, waiting[head] == nil { head += 1 }
        if head == waiting.count || head >= 1024 {
            waiting.removeFirst(head)
            head = 0
        }
        if case .changed(let node)? = notice { changed.remove(node.id) }
        return notice
    }

    mutating func removeAll() { self = WatcherQueue(limit: limit) }
}
