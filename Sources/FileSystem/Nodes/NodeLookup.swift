import ChatCore
import Namespace

/// Resolves inode numbers of the kernel: to a shown node, to a draft whose name is gone and that the kernel still
/// references, or to an open file. Stateless; answers from memory; thread-safe.
final class NodeLookup: Sendable {
    private let names: Namespace
    private let drafts: DraftTable
    private let references: KernelReferences
    private let handles: HandleTable
    /// Folders being pasted into chats.
    let pasted: PastedTree

    init(
        _ names: Namespace, _ drafts: DraftTable, _ references: KernelReferences, _ handles: HandleTable,
        _ pasted: PastedTree
    ) {
        self.pasted = pasted
        self.names = names
        self.drafts = drafts
        self.references = references
        self.handles = handles
    }

    func node(_ id: NodeID) -> Node? { nodeToOpen(id) ?? handles.handle(on: id)?.node }

    /// Returns the node for open(2), including a draft whose name vanished after the program's lookup.
    func nodeToOpen(_ id: NodeID) -> Node? {
        names.node(id) ?? pasted.node(id) ?? references.node(id) ?? ThumbnailNodes.node(id)
            ?? MessageNodes.node(id, in: names)
    }

    /// Returns the draft of a node, including a removed one that is referenced or open.
    func draft(_ id: DraftID, at node: NodeID) -> (any DraftFile)? {
        drafts.draft(id) ?? references.draft(node) ?? handles.handle(on: node)?.source.draft
    }

    /// Returns the draft of a node while it is editable.
    func editableDraft(_ node: Node) -> (any DraftFile)? {
        guard case .draft(let id) = node.content, node.folder != .recovered,
            let draft = draft(id, at: node.id), draft.state == .draft
        else { return nil }
        return draft
    }

    /// Returns the item of a number, which a just sent draft leaves to its item.
    func item(at id: NodeID) -> (node: Node, item: ChatItem)? {
        guard let node = names.node(id), case .item(let item) = node.content else { return nil }
        return (node, item)
    }
}
