import Base
import ChatCore
import Namespace

/// The folders that are being copied into chats, with all that is in them, and how far each is: the one place where
/// that is kept. Their numbers hold for one mount; what outlives it are the paths of the parts (`PartPath`). Any
/// thread, from memory.
final class PastedTree: Sendable {
    fileprivate struct Folder {
        var children = PastedChildren()
        var modified: Timestamp
    }

    fileprivate struct State {
        var nodes: [NodeID: Node] = [:]
        var folders: [NodeID: Folder] = [:]
        var drafts: [DraftID: NodeID] = [:]
        /// Those that lie in chats, by the folders of these.
        var roots: [NodeID: PastedChildren] = [:]
        var machines: [NodeID: PastedFolderMachine] = [:]
        /// Archives that are not handed over: as long as there is one, the next mount takes its folder for complete.
        var archives: [NodeID: [Int64]] = [:]
        var next = NodeID.firstPasted.rawValue
    }

    /// Folders within each other, the first included.
    static let maxDepth = 32
    /// Files and folders in all that are being copied into chats.
    static let maxEntries = 100_000

    private let clock: any WallClock
    private let state = Lock(State())

    init(clock: any WallClock) { self.clock = clock }

    /// Quickly, since it is asked of every number.
    static func holds(_ id: NodeID) -> Bool { id.isPasted }

    // MARK: - Looking

    func node(_ id: NodeID) -> Node? { Self.holds(id) ? state.withLock { $0.nodes[id] } : nil }

    func node(of draft: DraftID) -> Node? {
        state.withLock { state in state.drafts[draft].flatMap { state.nodes[$0] } }
    }

    /// What a folder of a chat, or one of these, has under a name.
    func child(_ name: EntryName, of folder: NodeID) -> Node? {
        state.withLock { state in
            let id = Self.holds(folder) ? state.folders[folder]?.children[name] : state.roots[folder]?[name]
            return id.flatMap { state.nodes[$0] }
        }
    }

    /// By number, from the one after `last` on.
    func children(of folder: NodeID, after last: NodeID?, count: Int = .max) -> [Node] {
        state.withLock { state in
            let children = Self.holds(folder) ? state.folders[folder]?.children : state.roots[folder]
            return children?.page(after: last, count: count).compactMap { state.nodes[$0] } ?? []
        }
    }

    func modified(_ folder: NodeID) -> Timestamp? { state.withLock { $0.folders[folder]?.modified } }

    /// The folder in the chat that something lies in; itself for such a one.
    func root(of id: NodeID) -> Node? {
        state.withLock { state in
            var node = state.nodes[id]
            while let one = node, let parent = state.nodes[one.folder] { node = parent }
            return node
        }
    }

    /// Names from the folder in the chat on.
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

    /// All that is in a folder, itself first, each before what is in it.
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

    /// Files and folders in all of them, themselves included. Asked for each file that is made, so it is not counted.
    var count: Int { state.withLock { $0.nodes.count } }

    /// Folders within each other, from this one on; 0 for a file.
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

    /// All folders in chats.
    var roots: [Node] {
        state.withLock { state in state.machines.keys.sorted().compactMap { state.nodes[$0] } }
    }

    // MARK: - Changing

    /// Adds a folder, or a part; in a chat's folder the beginning of another tree. Nil where the folder is gone.
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

    /// Gives something another name, in this folder or in another one; what has that name goes.
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

    /// Takes something away, with all that is in it.
    func remove(_ id: NodeID) {
        let now = clock.now()
        state.withLock { state in
            if let node = state.nodes[id] { state.remove(node, at: now) }
        }
    }

    // MARK: - How far they are

    func machine(_ root: NodeID) -> PastedFolderMachine? { state.withLock { $0.machines[root] } }

    /// What is to be done about an event; nothing where the folder is gone.
    func apply(_ event: PastedFolderEvent, to root: NodeID) -> PastedFolderAction? {
        state.withLock { state in
            let action = state.machines[root]?.apply(event)
            // From here on it is the archive that counts.
            if action == .handOver { state.archives[root] = nil }
            return action
        }
    }

    /// A folder is about to be changed: what is to be done about that, and the archives that no longer say that it is
    /// complete. Nothing where the archive is taking its place, or the folder is gone.
    func beginChange(of root: NodeID) -> (action: PastedFolderAction?, archives: [Int64])? {
        state.withLock { state in
            guard let machine = state.machines[root], machine.phase != .handedOver else { return nil }
            // What was stopped goes on after a change that was made: one that is refused says nothing.
            let action = machine.problem == nil ? state.machines[root]?.apply(.changed) : nil
            return (action, state.archives.removeValue(forKey: root) ?? [])
        }
    }

    /// These archives say to the next mount that a folder is complete.
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
