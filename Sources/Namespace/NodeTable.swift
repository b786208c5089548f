import Base
import ChatCore

/// All nodes in memory. A plain value; `Namespace` guards it with a lock that it holds for single steps only.
struct NodeTable {
    /// The shown entries of a folder. A name in the index whose item is not loaded is absent here but still in use.
    struct Folder {
        var children: [EntryName: NodeID] = [:]
        /// Shown nodes by inode number, the order of listings: a reader that resumes after its last number sees neither
        /// gaps nor duplicates.
        var order: [NodeID] = []
        var modified: Timestamp
        /// True if names missing from `children` do not exist. False for a chat's folder until it is loaded, and again
        /// after eviction.
        var isComplete = true
        /// Number of times that the folder became complete.
        var period: UInt64 = 0
    }

    private(set) var nodes: [NodeID: Node] = [:]
    private(set) var folders: [NodeID: Folder] = [:]
    /// Size in bytes of the items' texts.
    private(set) var textBytes = 0
    var items: [ItemID: NodeID] = [:]
    var files: [FileID: NodeID] = [:]
    var drafts: [DraftID: NodeID] = [:]
    var chats: [ChatReference: NodeID] = [:]

    init(now: Timestamp) {
        show(Node(id: .root, folder: .root, name: EntryName("/"), content: .root), at: now)
        show(Node(id: .control, folder: .root, name: EntryName(".chatfs"), content: .control), at: now)
        show(Node(id: .status, folder: .control, name: EntryName("status.json"), content: .status), at: now)
        show(
            Node(id: .transfers, folder: .control, name: EntryName("transfers"), content: .transfers), at: now
        )
        show(
            Node(id: .recovered, folder: .control, name: EntryName("recovered"), content: .recovered), at: now
        )
        show(Node(id: .messages, folder: .control, name: EntryName("messages"), content: .messages), at: now)
        // In no folder, so they are not listed.
        for (name, id) in Self.markers {
            nodes[id] = Node(id: id, folder: .root, name: name, content: .marker)
        }
    }

    /// Files that indexers look for before they enter a folder: LocalSearch (Tracker), Android's scanner.
    static let markers = [EntryName(".nomedia"): NodeID.noMedia, EntryName(".trackerignore"): .trackerIgnore]

    func child(_ name: EntryName, of folder: NodeID) -> Node? {
        if let id = folders[folder]?.children[name] { return nodes[id] }
        // Names of received files never begin with a dot, so this costs nothing.
        guard name.bytes.first == UInt8(ascii: "."), let marker = Self.markers[name] else { return nil }
        switch nodes[folder]?.content {
        case .root, .chat: return nodes[marker]
        default: return nil
        }
    }

    /// Shows a node.
    mutating func show(_ node: Node, at now: Timestamp) {
        let isNew = nodes[node.id] == nil
        replace(node)
        if node.isFolder, folders[node.id] == nil {
            var folder = Folder(modified: now)
            if case .chat = node.content { folder.isComplete = false }
            folders[node.id] = folder
        }
        guard isNew, node.id != .root else { return }
        folders[node.folder, default: Folder(modified: now)].insert(node, at: now)
    }

    /// Replaces a node with the same number and name.
    mutating func replace(_ node: Node) {
        textBytes += node.textBytes - (nodes[node.id]?.textBytes ?? 0)
        nodes[node.id] = node
        switch node.content {
        case .item(let item):
            items[item.id] = node.id
            if let file = item.file { files[file.id] = node.id }
        case .draft(let draft): drafts[draft] = node.id
        case .chat(let chat): chats[chat.reference] = node.id
        case .root, .control, .status, .transfers, .recovered, .marker, .pastedFolder, .thumbnails,
            .thumbnail, .messages, .messageLog:
            break
        }
    }

    /// Reserves capacity for the items of a folder.
    mutating func reserve(_ count: Int, in folder: NodeID) {
        nodes.reserveCapacity(nodes.count + count)
        items.reserveCapacity(items.count + count)
        files.reserveCapacity(files.count + count)
        folders[folder]?.children.reserveCapacity(count)
        folders[folder]?.order.reserveCapacity(count)
    }

    mutating func complete(_ folder: NodeID) {
        folders[folder]?.isComplete = true
        folders[folder]?.period += 1
    }

    func children(of folder: NodeID, after last: NodeID?, count: Int) -> [Node] {
        guard let folder = folders[folder] else { return [] }
        let start = last.map { folder.position(after: $0) } ?? 0
        // Not `start + count`, which overflows for `.max`.
        return folder.order[start...].prefix(count).compactMap { nodes[$0] }
    }

    /// Records a change of names that are not in memory.
    mutating func touch(_ folder: NodeID, at time: Timestamp) {
        guard let before = folders[folder]?.modified else { return }
        folders[folder]?.modified = max(before, time)
    }

    /// Resets a folder to its state when the mount began: incomplete, with its time and drafts. Returns the previous
    /// folder; the nodes of its items stay until `letGo(of:)`.
    mutating func empty(_ id: NodeID) -> Folder? {
        guard let before = folders[id], case .chat = nodes[id]?.content else { return nil }
        var emptied = Folder(modified: before.modified)
        emptied.isComplete = false
        emptied.period = before.period
        for node in drafts.values.compactMap({ nodes[$0] }) where node.folder == id {
            emptied.children[node.name] = node.id
            emptied.order.append(node.id)
        }
        emptied.order.sort()
        folders[id] = emptied
        return before
    }

    /// Removes the nodes of evicted items. Keeps drafts.
    mutating func letGo(of nodes: some Sequence<NodeID>) {
        for id in nodes {
            guard let node = self.nodes[id], case .item = node.content else { continue }
            self.nodes[id] = nil
            textBytes -= node.textBytes
            forget(node.content)
        }
    }

    /// Renames a shown node within its folder.
    mutating func rename(_ node: Node, to name: EntryName, at now: Timestamp) {
        folders[node.folder]?.children[node.name] = nil
        folders[node.folder]?.children[name] = node.id
        touch(node.folder, at: now)
        nodes[node.id] = node.with(name: name)
    }

    mutating func remove(_ node: Node, at now: Timestamp) {
        if let gone = nodes.removeValue(forKey: node.id) { textBytes -= gone.textBytes }
        if let folder = folders.removeValue(forKey: node.id) { letGo(of: folder.order) }
        folders[node.folder]?.remove(node, at: now)
        forget(node.content)
    }

    /// Removes the owner's reference to its node.
    mutating func forget(_ content: Node.Content) {
        switch content {
        case .item(let item):
            items[item.id] = nil
            if let file = item.file { files[file.id] = nil }
        case .draft(let draft): drafts[draft] = nil
        case .chat(let chat): chats[chat.reference] = nil
        case .root, .control, .status, .transfers, .recovered, .marker, .pastedFolder, .thumbnails,
            .thumbnail, .messages, .messageLog:
            break
        }
    }
}

extension Node {
    /// Size in bytes of the texts with variable length.
    fileprivate var textBytes: Int {
        guard case .item(let item) = content else { return 0 }
        return item.content.text.utf8.count + item.sender.utf8.count + (item.file?.name.utf8.count ?? 0)
    }
}

extension NodeTable.Folder {
    fileprivate mutating func insert(_ node: Node, at time: Timestamp) {
        modified = max(modified, time)
        children[node.name] = node.id
        order.insert(node.id, at: position(after: node.id))
    }

    fileprivate mutating func remove(_ node: Node, at time: Timestamp) {
        modified = max(modified, time)
        if children[node.name] == node.id { children[node.name] = nil }
        let position = position(after: node.id)
        if position > 0, order[position - 1] == node.id { order.remove(at: position - 1) }
    }

    /// Returns the position of the first number above `id`.
    func position(after id: NodeID) -> Int {
        var low = 0
        var high = order.count
        while low < high {
            let middle = (low + high) / 2
            if order[middle] <= id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
