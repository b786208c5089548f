import Base
import ChatCore
import Hydration
import Namespace
import Outbox

/// Computes the attributes of nodes for `stat`. Stateless; answers from memory; thread-safe.
final class AttributeReader: Sendable {
    private let names: Namespace
    private let nodes: NodeLookup
    private let references: KernelReferences
    private let memory: ItemMemory
    private let folders: ReferencedFolders
    private let contents: any ContentStore
    private let control: ControlFiles
    private let messages: MessageFiles
    private let entryPermissions: UInt16

    init(
        names: Namespace, nodes: NodeLookup, references: KernelReferences, memory: ItemMemory,
        folders: ReferencedFolders, contents: any ContentStore, control: ControlFiles,
        messages: MessageFiles, entryPermissions: UInt16
    ) {
        self.entryPermissions = entryPermissions
        self.names = names
        self.nodes = nodes
        self.references = references
        self.memory = memory
        self.folders = folders
        self.contents = contents
        self.control = control
        self.messages = messages
    }

    func attributes(of node: Node) -> Attributes {
        switch node.content {
        case .root, .recovered, .chat, .pastedFolder: return folder(node, permissions: 0o700)
        case .control, .thumbnails, .messages: return folder(node, permissions: 0o500)
        case .status, .transfers: return controlFile(node)
        case .marker: return file(node, size: 0, blocks: 0, modified: control.beginning)
        case .messageLog(let chat): return messages.attributes(of: node, chat)
        // `ThumbnailFiles` knows the size.
        case .thumbnail: return file(node, size: 0, blocks: 1, modified: control.beginning)
        case .item(let item): return entry(node, item)
        case .draft(let id):
            if let draft = nodes.draft(id, at: node.id) { return entry(node, draft.snapshot) }
            // Sent since the lookup.
            if let (node, item) = nodes.item(at: node.id) { return entry(node, item) }
            return file(node, size: 0, blocks: 0, modified: control.beginning)
        }
    }

    /// Returns the attributes of a node to which the kernel holds a reference from now on, until `forget`. Returns nil
    /// if the node is gone.
    func attributesToKeep(of node: Node) -> Attributes? {
        guard case .draft(let id) = node.content else {
            if node.isFolder { folders.tell(node.id) } else { memory.tell(node) }
            return attributes(of: node)
        }
        if let draft = nodes.draft(id, at: node.id), references.add(node, draft) {
            return attributes(of: node)
        }
        // Sent since the lookup: another entry with the same number.
        return nodes.item(at: node.id).map { (node, item) in
            memory.tell(node)
            return entry(node, item)
        }
    }

    /// Returns the attributes of a name, with a reference of the kernel.
    func attributesToKeep(of name: EntryName, in folder: NodeID) -> Attributes? {
        // A second lookup handles a removal between the two steps.
        for _ in 0..<2 {
            let node =
                folder == .messages
                ? messages.child(name) : names.child(name, of: folder) ?? nodes.pasted.child(name, of: folder)
            guard let node else { return nil }
            if let attributes = attributesToKeep(of: node) { return attributes }
        }
        return nil
    }

    // MARK: - Kinds of nodes

    private func folder(_ node: Node, permissions: UInt16) -> Attributes {
        Attributes(
            id: node.id, isFolder: true, permissions: permissions, size: 0, blocks: 0,
            modified: nodes.pasted.modified(node.id) ?? names.modified(folder: node.id),
            links: UInt32(2 + names.folderCount(of: node.id)), keeping: .untilNotice)
    }

    private func file(
        _ node: Node, size: UInt64, blocks: UInt64, modified: Timestamp
    ) -> Attributes {
        Attributes(
            id: node.id, isFolder: false, permissions: 0o400, size: size, blocks: blocks, modified: modified,
            links: 1, keeping: .untilNotice)
    }

    private func controlFile(_ node: Node) -> Attributes {
        let (size, time) = control.last(node.id)
        // No holes: programs look for holes in a file with fewer blocks than bytes.
        var attributes = file(node, size: size, blocks: size / 512 + 1, modified: time)
        attributes.keeping = .never
        return attributes
    }

    private func entry(_ node: Node, _ item: ChatItem) -> Attributes {
        let condition = item.file.map { contents.condition(of: $0.id) } ?? HydrationCondition()
        var attributes = file(
            node, size: item.file?.size ?? 0, blocks: blocks(of: item, condition),
            modified: node.modified ?? item.time)
        attributes.permissions = entryPermissions
        if condition.stage == .receiving { attributes.keeping = .moment }
        return attributes
    }

    private func blocks(of item: ChatItem, _ condition: HydrationCondition) -> UInt64 {
        guard let file = item.file, file.size > 0 else { return 0 }
        if file.isHere { return file.size / 512 + 1 }
        return max(1, condition.cached / 512)
    }

    private func entry(_ node: Node, _ draft: DraftSnapshot) -> Attributes {
        var attributes = file(
            node, size: draft.size, blocks: (draft.size + 511) / 512, modified: draft.modified)
        let isEditable = draft.state.isEditable && node.folder != .recovered
        attributes.permissions = isEditable ? 0o600 : entryPermissions
        attributes.links = draft.state == .removed ? 0 : 1
        attributes.keeping = .moment
        return attributes
    }
}
