import Desktop
import FileSystem
import Namespace

/// Translates tree changes into the events of `docs/reference/control-socket.md`.
struct MountSubscription: ProgramSubscription {
    let changes: TreeSubscription
    let lister: EntryLister

    func take() async -> [ProgramEvent] {
        var events: [ProgramEvent] = []
        for change in changes.take() {
            if let event = await event(change) { events.append(event) }
        }
        return events
    }

    func cancel() { changes.cancel() }

    /// Returns nil for an entry that vanished again, which has its own event, and for a change of no entry.
    private func event(_ change: TreeChange) async -> ProgramEvent? {
        switch change {
        case .appeared(let id): await event(of: id, .itemAppeared, .chatAppeared)
        case .changed(let id): await event(of: id, .itemChanged, .chatChanged)
        case .vanished(let id, let path): ProgramEvent(.vanished, number: id.rawValue, path: path)
        case .expiring(let id):
            (await lister.entry(id)).map { ProgramEvent(.expiring, item: ProgramItem($0)) }
        case .core(let problem?): ProgramEvent(.coreUnreachable, message: problem)
        case .core(nil): ProgramEvent(.coreReachable)
        case .suspension(let isSuspended): ProgramEvent(isSuspended ? .suspended : .resumed)
        case .counts: nil
        case .missed: ProgramEvent(.missed)
        }
    }

    private func event(
        of id: NodeID, _ item: ProgramEvent.Kind, _ chat: ProgramEvent.Kind
    ) async -> ProgramEvent? {
        if let folder = lister.folder(id) { return ProgramEvent(chat, chat: ProgramChat(folder)) }
        return (await lister.entry(id)).map { ProgramEvent(item, item: ProgramItem($0)) }
    }
}

/// Reports only that something changed, once for all pending changes. Describes no entry, so it loads no chat.
struct StatusSubscription: ProgramSubscription {
    let changes: TreeSubscription

    func take() async -> [ProgramEvent] { changes.take().isEmpty ? [] : [ProgramEvent(.statusChanged)] }
    func cancel() { changes.cancel() }
}
