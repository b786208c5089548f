import Base
import ChatCore
import Store

/// What a change did to the tree; whoever caches it is told.
public enum NamespaceChange: Sendable {
    case appeared(Node)
    /// Same name and number; attributes or state differ.
    case changed(Node)
    case vanished(NodeID, EntryName, in: NodeID)

    static func vanished(_ node: Node) -> Self { .vanished(node.id, node.name, in: node.folder) }
}

/// One change while it is written to the index: looks at what is shown now, and collects what will
/// be shown when the index has it.
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

    // Only the holder of the change looks here, so nothing moves between two looks.
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

    /// So many steps are shown at once: a reader waits for them, some microseconds.
    static let atOnce = 64

    /// What is new on show, or has another name, when it is carried out.
    var newNodes: [Node] {
        steps.compactMap { step in
            switch step {
            case .add(let node, _): node
            case .rename(let node, let name, _): node.with(name: name)
            case .replace, .remove, .forget, .reserve, .complete, .touch: nil
            }
        }
    }

    /// What is another than before under the same name.
    var changedNodes: [Node] {
        steps.compactMap { step in
            if case .replace(let node) = step { node } else { nil }
        }
    }

    /// Shows it all.
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
    /// What a change may meet: an own error as it is, a database's by its consequence.
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
    /// Bytes of a caption that an entry has at most. A message may hold 64 KiB, a folder any number of messages.
    static let longestCaption = 1024

    /// Whether this, the item of an entry, may have only the beginning of its caption; at worst it has all.
    public var mayBeShortened: Bool { content.text.utf8.count > Self.longestCaption - 4 }

    /// This item without its preview picture (up to 14,000 characters), and with the beginning of a long caption.
    var shortened: ChatItem {
        var item = self
        if content.text.utf8.count > Self.longestCaption {
            // Between two characters: at most three bytes less.
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
