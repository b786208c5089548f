import Base
import Namespace

/// Reports changes not made through the kernel to programs that watch folders. Reports an entry's state changes, not
/// its progress. Thread-safe.
final class FolderWatchers: Sendable {
    // A struct, as `Lock` requires.
    private struct State {
        var send: (@Sendable (WatcherNotice) -> Void)?
        /// Last reported state of transferring entries.
        var told: [NodeID: EntryState] = [:]
        var folders = ListedFolders()
        /// True while a task waits to report held notices.
        var isTelling = false
    }

    private let known: ReferencedFolders
    private let entries: EntryReporter
    private let state = Lock(State())

    init(known: ReferencedFolders, entries: EntryReporter) {
        self.known = known
        self.entries = entries
    }

    func tell(through send: (@Sendable (WatcherNotice) -> Void)?) { state.withLock { $0.send = send } }

    /// Records a listing of the folder, or type detection of its files by a window.
    func listed(_ folder: NodeID) { state.withLock { $0.folders.listed(folder, now: .now) } }

    func appeared(_ node: Node) {
        remember(node)
        send(.appeared(node))
    }

    func vanished(_ id: NodeID, _ name: EntryName, in folder: NodeID) {
        state.withLock { _ = $0.told.removeValue(forKey: id) }
        send(.vanished(id, name, in: folder))
    }

    func renamed(_ node: Node, from name: EntryName) { send(.renamed(node, from: name)) }

    /// Reports a node that may have changed. Folders have no state.
    func changed(_ node: Node) {
        if remember(node) { send(.changed(node)) }
    }

    /// Stores the node's state. Returns true if there is a state and it differs from the last stored one.
    @discardableResult
    private func remember(_ node: Node) -> Bool {
        guard let report = entries.report(on: node) else { return false }
        return state.withLock { state in
            let before = state.told[node.id]
            // States at rest seldom change and are not stored.
            state.told[node.id] = report.isTransfer ? report.state : nil
            return before != report.state
        }
    }

    private func send(_ notice: WatcherNotice) {
        guard known.isKnown(notice.folder) else { return }
        let (isHeld, begins) = state.withLock { state in
            let isHeld = state.folders.hold(notice, now: .now)
            defer { state.isTelling = state.isTelling || isHeld }
            return (isHeld, isHeld && !state.isTelling)
        }
        if begins { Task { await tellHeld() } }
        if !isHeld { state.withLock { $0.send }?(notice) }
    }

    private func tellHeld() async {
        while true {
            let next = state.withLock { state in
                let next = state.folders.nextDue
                state.isTelling = next != nil
                return next
            }
            guard let next else { return }
            try? await Task.sleep(until: next, clock: .continuous)
            let (due, send) = state.withLock { ($0.folders.takeDue(now: .now), $0.send) }
            for notice in due { send?(notice) }
        }
    }
}
