import Base
import Namespace
import Outbox
import Posix

/// Which drafts the kernel knows by number, and how often it was told of each (`nlookup` of FUSE). Until it has
/// forgotten one it may ask for it, also when its name is gone: another process that found the name a moment
/// earlier, or `/proc/PID/fd`. The bytes are held for that long.
///
/// Drafts only: what has become an item is not asked for once it is gone. Any thread, from memory.
final class KernelReferences: Sendable {
    private struct Reference {
        var node: Node
        let draft: any DraftFile
        var count: UInt64
    }

    private let references = Lock<[NodeID: Reference]>([:])

    /// The kernel is about to be told of a draft. False when that is gone: whoever found it looks again.
    func add(_ node: Node, _ draft: any DraftFile) -> Bool {
        references.withLock { references in
            if references[node.id] != nil {
                references[node.id]?.count += 1
                return true
            }
            guard draft.hold() else { return false }
            references[node.id] = Reference(node: node, draft: draft, count: 1)
            return true
        }
    }

    /// The kernel has forgotten that it was told so often. What it does not know any more is let go by the
    /// caller, who may wait for the disk.
    func remove(_ count: UInt64, of id: NodeID) -> (any DraftFile)? {
        references.withLock { references in
            guard let reference = references[id] else { return nil }
            guard reference.count <= count else {
                references[id]?.count -= count
                return nil
            }
            references[id] = nil
            return reference.draft
        }
    }

    /// The draft is one no more, whatever the kernel knows. To be let go, as above.
    func removeAll(of id: NodeID) -> (any DraftFile)? { remove(.max, of: id) }

    /// At the very end: all of them, to be let go.
    func removeAll() -> [any DraftFile] {
        references.withLock { references in
            defer { references = [:] }
            return references.values.map(\.draft)
        }
    }

    func node(_ id: NodeID) -> Node? { references.withLock { $0[id]?.node } }
    func draft(_ id: NodeID) -> (any DraftFile)? { references.withLock { $0[id]?.draft } }
}
