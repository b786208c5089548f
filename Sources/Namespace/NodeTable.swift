import Base
import ChatCore

/// Every node in memory. A plain value: `Namespace` keeps it behind a lock that is held for single
/// steps only.
struct NodeTable {
    /// What is shown of one folder. A name of the index whose item is not known yet is not here, and is
    /// taken all the same.
    struct Folder {
        var children: [EntryName: NodeID] = [:]
        /// Shown nodes by inode number, the order of listings: a reader that comes back with the last
        /// number it saw misses nothing and sees nothing twice, whatever was added or removed.
        var order: [NodeID] = []
        var modified: Timestamp
        /// Whether a name that is not among the children is not there. A chat's folder begins without.
        var isComplete = true
    }

    private(set) var nodes: [NodeID: Node] = [:]
    private(set) var folders: [NodeID: Folder] = [:]
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
    }

    /// Puts a node on show.
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

    /// Shows something else under the same number and name.
    mutating func replace(_ node: Node) {
        nodes[node.id] = node
        switch node.content {
        case .item(let item):
            items[item.id] = node.id
            if let file = item.file { files[file.id] = node.id }
        case .draft(let draft): drafts[draft] = node.id
        case .chat(let chat): chats[chat.reference] = node.id
        case .root, .control, .status, .transfers, .recovered: break
        }
    }

    mutating func complete(_ folder: NodeID) { folders[folder]?.isComplete = true }

    /// Moves a shown node to another name of its folder.
    mutating func rename(_ node: Node, to name: EntryName, at now: Timestamp) {
        folders[node.folder]?.children[node.name] = nil
        folders[node.folder]?.children[name] = node.id
        folders[node.folder]?.modified = now
        nodes[node.id] = node.with(name: name)
    }

    mutating func remove(_ node: Node, at now: Timestamp) {
        nodes[node.id] = nil
        if node.isFolder { folders[node.id] = nil }
        folders[node.folder]?.remove(node, at: now)
        forget(node.content)
    }

    /// Whose node it was has none any more.
    mutating func forget(_ content: Node.Content) {
        switch content {
        case .item(let item):
            items[item.id] = nil
            if let file = item.file { files[file.id] = nil }
        case .draft(let draft): drafts[draft] = nil
        case .chat(let chat): chats[chat.reference] = nil
        case .root, .control, .status, .transfers, .recovered: break
        }
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

    /// Where the first number above `id` stands.
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
