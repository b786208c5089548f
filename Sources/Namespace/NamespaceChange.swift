import Base
import ChatCore
import Store

/// A change of the tree, reported to all caches.
public enum NamespaceChange: Sendable {
    case appeared(Node)
    /// The same name and number with other attributes or another state.
    case changed(Node)
    case vanished(NodeID, EntryName, in: NodeID)

    static func vanished(_ node: Node) -> Self { .vanished(node.id, node.name, in: node.folder) }
}

/// A change while it is written to the index. Reads the shown state and collects the changes to show after the commit.
struct PendingChange {
    private let shown: Lock<NodeTable>
    private var steps: [Step] = []

    private enum Step {
        case add(Node, Timestamp)
        case replace(Node)
        case remove(Node, Timestamp)
        case rename(Node, EntryName, Timestamp)
        case forget(Node.Content)
        case reserve(Int, NodeID)
        case complete(NodeID)
        case touch(NodeID, Timestamp)
    }

    init(shown: Lock<NodeTable>) { self.shown = shown }

    // Only the running change calls this, so the state is stable between calls.
    func node(_ owner: NameIndex.Owner) -> Node? {
        shown.withLock { table in
            let id =
                switch owner {
                case .chat(let chat): table.chats[chat]
                case .item(let item): table.items[item]
                case .draft(let draft): table.drafts[draft]
                }
            return id.flatMap { table.nodes[$0] }
        }
    }

    func node(_ id: NodeID) -> Node? { shown.withLock { $0.nodes[id] } }

    func hasFolder(_ id: NodeID) -> Bool { shown.withLock { $0.nodes[id]?.isFolder == true } }

    mutating func add(_ node: Node, at time: Timestamp) { steps.append(.add(node, time)) }
    mutating func replace(_ node: Node) { steps.append(.replace(node)) }
    mutating func remove(_ node: Node, at time: Timestamp) { steps.append(.remove(node, time)) }
    mutating func forget(_ content: Node.Content) { steps.append(.forget(content)) }
    mutating func reserve(_ count: Int, in folder: NodeID) { steps.append(.reserve(count, folder)) }
    mutating func complete(_ folder: NodeID) { steps.append(.complete(folder)) }
    mutating func touch(_ folder: NodeID, at time: Timestamp) { steps.append(.touch(folder, time)) }

    mutating func rename(_ node: Node, to name: EntryName, at time: Timestamp) {
        steps.append(.rename(node, name, time))
    }

    /// Number of steps shown per lock: a reader waits for them for some microseconds.
    static let atOnce = 64

    /// Nodes that are new or renamed by this change.
    var newNodes: [Node] {
        steps.compactMap { step in
            switch step {
            case .add(let node, _): node
            case .rename(let node, let name, _): node.with(name: name)
            case .replace, .remove, .forget, .reserve, .complete, .touch: nil
            }
        }
    }

    /// Nodes that change under the same name.
    var changedNodes: [Node] {
        steps.compactMap { step in
            if case .replace(let node) = step { node } else { nil }
        }
    }

    /// Shows the change.
    func carryOut() {
        for start in stride(from: 0, to: steps.count, by: Self.atOnce) {
            shown.withLock { table in
                for step in steps[start..<min(start + Self.atOnce, steps.count)] {
                    switch step {
                    case .add(let node, let time): table.show(node, at: time)
                    case .replace(let node): table.replace(node)
                    case .remove(let node, let time): table.remove(node, at: time)
                    case .rename(let node, let name, let time): table.rename(node, to: name, at: time)
                    case .forget(let content): table.forget(content)
                    case .reserve(let count, let folder): table.reserve(count, in: folder)
                    case .complete(let folder): table.complete(folder)
                    case .touch(let folder, let time): table.touch(folder, at: time)
                    }
                }
            }
        }
    }
}

extension NamespaceError {
    /// Keeps a `NamespaceError`; maps a database's error by its effect.
    init(wrapping error: any Error) {
        switch error {
        case let error as NamespaceError: self = error
        case let error as StoreError where error.code == .diskFull:
            self.init(.diskFull, error.sentence, cause: error)
        default:
            self.init(
                .storage, "The index of names could not be used. \(Base.sentence(of: error))", cause: error)
        }
    }
}

extension ChatItem {
    /// Maximum bytes of a caption in memory. A message may hold 64 KiB, a folder any number of messages.
    static let longestCaption = 1024

    /// True if an entry's item may lack the rest of its caption; may be true for a complete one.
    public var mayBeShortened: Bool { content.text.utf8.count > Self.longestCaption - 4 }

    /// The item without its preview (up to 14,000 characters) and with a shortened caption.
    var shortened: ChatItem {
        var item = self
        if content.text.utf8.count > Self.longestCaption {
            // At a character boundary, at most three bytes less.
            let bytes = content.text.utf8
            item.content.text =
                (0..<4).lazy.compactMap { String(bytes.prefix(Self.longestCaption - $0)) }.first ?? ""
        }
        switch content.kind {
        case .image: item.content.kind = .image(preview: "")
        case .video(_, let seconds): item.content.kind = .video(preview: "", seconds: seconds)
        case .text, .file, .voice: break
        }
        return item
    }
}
