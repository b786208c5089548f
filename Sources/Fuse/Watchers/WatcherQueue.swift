import FileSystem
import Namespace

/// Notices that wait to be told. When there are too many, those who watch the folder are told in their place to
/// look again. A value without input and output.
struct WatcherQueue: Sendable {
    /// Some of a watcher's own queue in the kernel (`fs.inotify.max_queued_events`, usually as many).
    static let usualLimit = 16_384

    private let limit: Int
    private var waiting: [WatcherNotice?] = []
    private var head = 0
    /// Nodes of which a change waits already.
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

    mutating func next() -> WatcherNotice? {
        guard head < waiting.count else { return crowded.popFirst().map { .lookAgain($0) } }
        let notice = waiting[head]
        // What it holds must go when it was told, not when the queue is empty.
        waiting[head] = nil
        head += 1
        if head == waiting.count || head >= 1024 {
            waiting.removeFirst(head)
            head = 0
        }
        if case .changed(let node)? = notice { changed.remove(node.id) }
        return notice
    }

    mutating func removeAll() { self = WatcherQueue(limit: limit) }
}
