import Namespace

/// Tells what changed in the tree to all whom it concerns: the kernel, which keeps names, attributes and pages; who
/// watches a folder, whom the kernel tells only of what it was asked for itself; and programs that listen. Which of
/// them is told of what is decided here alone. Any thread; nothing waits for who is told.
final class TreeNotices: Sendable {
    private let kernel: KernelConnection
    private let watchers: FolderWatchers
    private let programs: TreeAnnouncer

    init(kernel: KernelConnection, watchers: FolderWatchers, programs: TreeAnnouncer) {
        self.kernel = kernel
        self.watchers = watchers
        self.programs = programs
    }

    /// A request of the kernel made it: the kernel knows, and tells who watches.
    func requested(_ change: NamespaceChange) { programs.tell(change) }

    /// A command made it as a request of the kernel would, which programs were told of.
    func commanded(_ change: NamespaceChange) {
        if case .vanished(_, let name, let folder) = change { kernel.notify(.entry(name, in: folder)) }
        tellWatchers(of: [change])
    }

    /// A request of the kernel removed a name that stays: those who watch were told that it is gone.
    func reappeared(_ node: Node) {
        kernel.notify(.entry(node.name, in: node.folder))
        watchers.appeared(node)
    }

    /// It happened without the kernel's doing.
    func happened(_ changes: [NamespaceChange]) {
        for change in changes {
            programs.tell(change)
            switch change {
            case .appeared(let node): kernel.notify(.entry(node.name, in: node.folder))
            case .vanished(_, let name, let folder): kernel.notify(.entry(name, in: folder))
            case .changed(let node): kernel.notify(.attributes(node.id))
            }
        }
        tellWatchers(of: changes[...])
    }

    /// Reports new entries that a listing put into the tree before their event came. The kernel has them from that
    /// listing; watchers and programs do not.
    func arrived(_ nodes: [Node]) {
        for node in nodes {
            programs.tell(.appeared(node.id))
            watchers.appeared(node)
        }
    }

    /// Attributes of a node, or where it stands, are others, and its name is not.
    /// - Parameter node: nil where it is not in memory: then nobody watches it.
    func changed(_ id: NodeID, _ node: Node?) {
        kernel.notify(.attributes(id))
        programs.tell(.changed(id))
        if let node { watchers.changed(node) }
    }

    /// What the kernel has of the bytes is not right any more.
    func contentChanged(_ id: NodeID) { kernel.notify(.content(id)) }

    func coreChanged(problem: String?) { programs.tell(.core(problem: problem)) }

    func expiring(_ id: NodeID) { programs.tell(.expiring(id)) }

    private func tellWatchers(of changes: ArraySlice<NamespaceChange>) {
        var changes = changes
        while let change = changes.popFirst() {
            switch change {
            case .appeared(let node): watchers.appeared(node)
            case .changed(let node): watchers.changed(node)
            case .vanished(let id, let name, let folder):
                // Gone, and there again at once under another name.
                if case .appeared(let node) = changes.first, node.id == id, node.folder == folder {
                    changes = changes.dropFirst()
                    watchers.renamed(node, from: name)
                } else {
                    watchers.vanished(id, name, in: folder)
                }
            }
        }
    }
}
