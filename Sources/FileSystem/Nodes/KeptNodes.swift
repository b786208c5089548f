import Base
import Namespace
import Outbox
import Posix

extension FileSystem {
    /// What the kernel is told of a node that it keeps from then on, until `forget`. Nil when the node is gone.
    public func attributesToKeep(of node: Node) -> Attributes? {
        guard case .draft(let id) = node.content else { return attributes(of: node) }
        if let draft = draft(id, at: node.id), references.add(node, draft) { return attributes(of: node) }
        // Sent since it was found: another entry under the same number.
        guard let node = names.node(node.id), case .item = node.content else { return nil }
        return attributes(of: node)
    }

    /// The same of a name.
    func attributesToKeep(of name: EntryName, in folder: NodeID) -> Attributes? {
        // Removed or replaced between the two steps: then another look finds what is there now.
        for _ in 0..<2 {
            guard let node = names.child(name, of: folder) else { return nil }
            if let attributes = attributesToKeep(of: node) { return attributes }
        }
        return nil
    }

    /// The kernel forgets a node that it was told of `count` times, or the answer did not reach it.
    public func forget(_ id: NodeID, _ count: UInt64) {
        guard let draft = references.remove(count, of: id) else { return }
        letGo(draft)
    }

    func letGo(_ draft: any DraftFile) {
        if draft.state == .removed {
            // Its bytes go from the disk: not on a thread that answers requests.
            ThreadPool.shared.submit { draft.letGo() }
        } else {
            draft.letGo()
        }
    }
}
