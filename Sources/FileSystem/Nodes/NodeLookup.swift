import ChatCore
import Namespace

/// What a number that the kernel names may mean: a node that is shown; a draft whose name is gone and that the
/// kernel still knows; one that somebody has open. Has no state of its own. Any thread, from memory.
final class NodeLookup: Sendable {
    private let names: Namespace
    private let drafts: DraftTable
    private let references: KernelReferences
    private let handles: HandleTable
    /// Folders that are being copied into chats.
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

    /// A draft also when its name is gone: whoever found that a moment ago opens what it named then.
    func nodeToOpen(_ id: NodeID) -> Node? {
        names.node(id) ?? pasted.node(id) ?? references.node(id) ?? ThumbnailNodes.node(id)
            ?? MessageNodes.node(id, in: names)
    }

    /// The draft behind a node: removed too, while the kernel knows it or somebody has it open.
    func draft(_ id: DraftID, at node: NodeID) -> (any DraftFile)? {
        drafts.draft(id) ?? references.draft(node) ?? handles.handle(on: node)?.source.draft
    }

    /// The draft behind a node while it may still be changed.
    func editableDraft(_ node: Node) -> (any DraftFile)? {
        guard case .draft(let id) = node.content, node.folder != .recovered,
            let draft = draft(id, at: node.id), draft.state == .draft
        else { return nil }
        return draft
    }

    /// What a draft's number belongs to when the draft has just been sent: its item.
    func item(at id: NodeID) -> (node: Node, item: ChatItem)? {
        guard let node = names.node(id), case .item(let item) = node.content else { return nil }
        return (node, item)
    }
}
