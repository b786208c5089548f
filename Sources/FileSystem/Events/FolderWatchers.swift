import Base
import Namespace

/// Tells those who watch folders what changed in them without the kernel's doing, where somebody may be watching.
/// Decides which changes of an entry are worth it: those of its state, not of how far it is. Any thread.
final class FolderWatchers: Sendable {
    // In a struct: see `Lock`.
    private struct State {
        var send: (@Sendable (WatcherNotice) -> Void)?
        /// Of entries on their way: the state that was told last.
        var told: [NodeID: EntryState] = [:]
        var folders = ListedFolders()
        /// Tells what is held when its time comes.
        var isTelling = false
    }

    private let known: KnownFolders
    private let entries: EntryReporter
    private let state = Lock(State())

    init(known: KnownFolders, entries: EntryReporter) {
        self.known = known
        self.entries = entries
    }

    func tell(through send: (@Sendable (WatcherNotice) -> Void)?) { state.withLock { $0.send = send } }

    /// A part of a folder is being listed, or a window finds out the types of its files.
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

    /// Something about a node may be another now. Folders have no state.
    func changed(_ node: Node) {
        if remember(node) { send(.changed(node)) }
    }

    /// Whether there is a state and it is another one than the last, as far as that is kept.
    @discardableResult
    private func remember(_ node: Node) -> Bool {
        guard let report = entries.report(on: node) else { return false }
        return state.withLock { state in
            let before = state.told[node.id]
            // What has come to rest changes seldom.
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
