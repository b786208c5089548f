import Base
import ChatCore
import Namespace

/// The pasted folders with their entries and machines. Inode numbers are valid for one mount; the paths of the parts
/// (`PartPath`) persist. Answers from memory; thread-safe.
final class PastedTree: Sendable {
    fileprivate struct Folder {
        var children = PastedChildren()
        var modified: Timestamp
    }

    fileprivate struct State {
        var nodes: [NodeID: Node] = [:]
        var folders: [NodeID: Folder] = [:]
        var drafts: [DraftID: NodeID] = [:]
        /// The pasted folders in chats, by the chat's folder.
        var roots: [NodeID: PastedChildren] = [:]
        var machines: [NodeID: PastedFolderMachine] = [:]
        /// Archives not handed over. While one exists, the next mount treats its folder as complete.
        var archives: [NodeID: [Int64]] = [:]
        var next = NodeID.firstPasted.rawValue
    }

    /// Maximum nesting, with the pasted folder itself.
    static let maxDepth = 32
    /// Maximum number of files and folders in all pasted folders.
    static let maxEntries = 100_000

    private let clock: any WallClock
    private let state = Lock(State())

    init(clock: any WallClock) { self.clock = clock }

    /// Called for every inode number, so without a lock.
    static func holds(_ id: NodeID) -> Bool { id.isPasted }

    // MARK: - Lookup

    func node(_ id: NodeID) -> Node? { Self.holds(id) ? state.withLock { $0.nodes[id] } : nil }

    func node(of draft: DraftID) -> Node? {
        state.withLock { state in state.drafts[draft].flatMap { state.nodes[$0] } }
    }

    /// Returns the pasted child of a chat's or a pasted folder.
    func child(_ name: EntryName, of folder: NodeID) -> Node? {
        state.withLock { state in
            let id = Self.holds(folder) ? state.folders[folder]?.children[name] : state.roots[folder]?[name]
            return id.flatMap { state.nodes[$0] }
        }
    }

    /// Returns children after `last` in order of number.
    func children(of folder: NodeID, after last: NodeID?, count: Int = .max) -> [Node] {
        state.withLock { state in
            let children = Self.holds(folder) ? state.folders[folder]?.children : state.roots[folder]
            return children?.page(after: last, count: count).compactMap { state.nodes[$0] } ?? []
        }
    }

    func modified(_ folder: NodeID) -> Timestamp? { state.withLock { $0.folders[folder]?.modified } }

    /// Returns the pasted folder in the chat that contains the node, or the node itself if it is one.
    func root(of id: NodeID) -> Node? {
        state.withLock { state in
            var node = state.nodes[id]
            while let one = node, let parent = state.nodes[one.folder] { node = parent }
            return node
        }
    }

    /// Returns the names from the pasted folder in the chat to the node.
    func path(of id: NodeID) -> [EntryName] {
        state.withLock { state in
            var names: [EntryName] = []
            var node = state.nodes[id]
            while let one = node {
                names.insert(one.name, at: 0)
                node = state.nodes[one.folder]
            }
            return names
        }
    }

    /// Returns a folder and all its descendants, each before its children.
    func contents(of folder: NodeID) -> [(path: [EntryName], node: Node)] {
        let above = Array(path(of: folder).dropLast())
        return state.withLock { state in
            var found: [(path: [EntryName], node: Node)] = []
            var open: [(path: [EntryName], id: NodeID)] = [(above, folder)]
            while let (path, id) = open.popLast() {
                guard let node = state.nodes[id] else { continue }
                found.append((path + [node.name], node))
                let children = state.folders[id]?.children.all.reversed() ?? []
                open += children.map { (path + [node.name], $0) }
            }
            return found
        }
    }

    /// Number of files and folders in all pasted folders, with these. Read for every new file, so O(1).
    var count: Int { state.withLock { $0.nodes.count } }

    /// Returns the nesting from this folder on; 0 for a file.
    func depth(of id: NodeID) -> Int {
        state.withLock { state in
            var (depth, level) = (0, [id].filter { state.folders[$0] != nil })
            while !level.isEmpty {
                depth += 1
                level = level.flatMap {
                    state.folders[$0]?.children.all.filter { state.folders[$0] != nil } ?? []
                }
            }
            return depth
        }
    }

    func isEmpty(_ folder: NodeID) -> Bool {
        state.withLock { $0.folders[folder]?.children.isEmpty ?? true }
    }

    /// The pasted folders in all chats.
    var roots: [Node] {
        state.withLock { state in state.machines.keys.sorted().compactMap { state.nodes[$0] } }
    }

    // MARK: - Changing

    /// Adds a folder or a part. In a chat's folder, starts a new pasted folder. Returns nil if the parent is gone.
    func add(_ content: Node.Content, named name: EntryName, in folder: NodeID) -> Node? {
        let now = clock.now()
        return state.withLock { state in
            guard !Self.holds(folder) || state.folders[folder] != nil else { return nil }
            state.next += 1
            let node = Node(id: NodeID(state.next), folder: folder, name: name, content: content)
            state.insert(node, at: now)
            if node.isFolder { state.folders[node.id] = Folder(modified: now) }
            if node.isFolder, !Self.holds(folder) { state.machines[node.id] = PastedFolderMachine() }
            if case .draft(let draft) = content { state.drafts[draft] = node.id }
            return node
        }
    }

    /// Renames or moves a node and removes a node of that name.
    func move(_ id: NodeID, to name: EntryName, in folder: NodeID) {
        let now = clock.now()
        state.withLock { state in
            guard let node = state.nodes[id] else { return }
            state.detach(node, at: now)
            if let other = state.child(name, of: folder) { state.remove(other, at: now) }
            let moved = Node(
                id: id, folder: folder, name: name, content: node.content, modified: node.modified)
            state.insert(moved, at: now)
        }
    }

    /// Removes a node and its descendants.
    func remove(_ id: NodeID) {
        let now = clock.now()
        state.withLock { state in
            if let node = state.nodes[id] { state.remove(node, at: now) }
        }
    }

    // MARK: - State

    func machine(_ root: NodeID) -> PastedFolderMachine? { state.withLock { $0.machines[root] } }

    /// Applies an event and returns the action; nil if the folder is gone.
    func apply(_ event: PastedFolderEvent, to root: NodeID) -> PastedFolderAction? {
        state.withLock { state in
            let action = state.machines[root]?.apply(event)
            // From now on the archive is authoritative.
            if action == .handOver { state.archives[root] = nil }
            return action
        }
    }

    /// Begins a change of a folder. Returns the action and the archives to withdraw; nil if the archive is replacing
    /// the folder or the folder is gone.
    func beginChange(of root: NodeID) -> (action: PastedFolderAction?, archives: [Int64])? {
        state.withLock { state in
            guard let machine = state.machines[root], machine.phase != .handedOver else { return nil }
            // A stopped folder continues only after a completed change; a refused change has no effect.
            let action = machine.problem == nil ? state.machines[root]?.apply(.changed) : nil
            return (action, state.archives.removeValue(forKey: root) ?? [])
        }
    }

    /// Records archives that tell the next mount that the folder is complete.
    func note(archives: [Int64], of root: NodeID) {
        state.withLock { if $0.machines[root] != nil { $0.archives[root] = archives } }
    }
}

extension PastedTree.State {
    fileprivate func child(_ name: EntryName, of folder: NodeID) -> Node? {
        let id = PastedTree.holds(folder) ? folders[folder]?.children[name] : roots[folder]?[name]
        return id.flatMap { nodes[$0] }
    }

    fileprivate mutating func insert(_ node: Node, at time: Timestamp) {
        nodes[node.id] = node
        if PastedTree.holds(node.folder) {
            folders[node.folder]?.children.insert(node.id, named: node.name)
            folders[node.folder]?.modified = time
        } else {
            roots[node.folder, default: PastedChildren()].insert(node.id, named: node.name)
        }
    }

    fileprivate mutating func detach(_ node: Node, at time: Timestamp) {
        if PastedTree.holds(node.folder) {
            folders[node.folder]?.children.remove(node.name)
            folders[node.folder]?.modified = time
        } else {
            roots[node.folder]?.remove(node.name)
            if roots[node.folder]?.isEmpty == true { roots[node.folder] = nil }
        }
    }

    fileprivate mutating func remove(_ node: Node, at time: Timestamp) {
        detach(node, at: time)
        var open = [node.id]
        while let id = open.popLast() {
            open += folders.removeValue(forKey: id)?.children.all ?? []
            machines[id] = nil
            archives[id] = nil
            if case .draft(let draft)? = nodes.removeValue(forKey: id)?.content { drafts[draft] = nil }
        }
    }
}
