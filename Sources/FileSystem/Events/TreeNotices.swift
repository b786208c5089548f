import Namespace

/// Reports tree changes to the kernel (names, attributes and pages), to folder watchers, which the kernel notifies only
/// of its own requests, and to programs. This type alone decides the receivers of each change. Thread-safe; never waits
/// for a receiver.
struct TreeNotices: Sendable {
    let kernel: KernelConnection
    let watchers: FolderWatchers
    let programs: TreeAnnouncer
    let last: LastProblem

    /// Reports a change that a kernel request made. The kernel already notifies watchers.
    func requested(_ change: NamespaceChange) { programs.tell(change) }

    /// Reports a change that a command made in the same way as a kernel request. Programs were already notified.
    func commanded(_ change: NamespaceChange) {
        if case .vanished(_, let name, let folder) = change { kernel.notify(.entry(name, in: folder)) }
        tellWatchers(of: [change])
    }

    /// Reports that a name removed by a kernel request stays. Watchers had seen it vanish.
    func reappeared(_ node: Node) {
        kernel.notify(.entry(node.name, in: node.folder))
        watchers.appeared(node)
    }

    /// Reports changes that no kernel request made.
    func happened(_ changes: [NamespaceChange]) {
        for change in changes {
            programs.tell(change)
            switch change {
            case .appeared(let node): kernel.notify(.entry(node.name, in: node.folder))
            case .vanished(_, let name, let folder): kernel.notify(.entry(name, in: folder))
            case .changed(let node):
                last.look(at: node)
                kernel.notify(.attributes(node.id))
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

    /// Reports changed attributes or a changed position of a node with the same name.
    /// - Parameter node: nil if the node is not in memory; then no program watches it.
    func changed(_ id: NodeID, _ node: Node?) {
        kernel.notify(.attributes(id))
        programs.tell(.changed(id))
        if let node {
            last.look(at: node)
            watchers.changed(node)
        }
    }

    /// Invalidates the kernel's pages of a node.
    func contentChanged(_ id: NodeID) { kernel.notify(.content(id)) }

    func coreChanged(problem: String?) {
        if let problem { last.note(problem) }
        programs.tell(.core(problem: problem))
    }

    /// Reports a change in the core or in contents that no entry shows, such as of a chat that is not loaded.
    func counted() { programs.tell(.counts) }

    func suspended(_ isSuspended: Bool) { programs.tell(.suspension(isSuspended)) }

    func expiring(_ id: NodeID) { programs.tell(.expiring(id)) }

    private func tellWatchers(of changes: ArraySlice<NamespaceChange>) {
        var changes = changes
        while let change = changes.popFirst() {
            switch change {
            case .appeared(let node): watchers.appeared(node)
            case .changed(let node): watchers.changed(node)
            case .vanished(let id, let name, let folder):
                // Vanished and appeared again in the same folder: a rename.
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
