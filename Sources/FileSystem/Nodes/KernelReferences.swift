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

    private let references = Lock<[NodeID: Reference]>([:], rank: .collection)

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

    /// The kernel has forgotten that it was told so often.
    func forget(_ id: NodeID, _ count: UInt64) {
        let forgotten = references.withLock { references -> (any DraftFile)? in
            guard let reference = references[id] else { return nil }
            guard reference.count <= count else {
                references[id]?.count -= count
                return nil
            }
            references[id] = nil
            return reference.draft
        }
        guard let draft = forgotten else { return }
        if draft.state == .removed {
            // Its bytes go from the disk: not on a thread that answers requests.
            ThreadPool.shared.submit { draft.letGo() }
        } else {
            draft.letGo()
        }
    }

    /// The draft is one no more, whatever the kernel knows.
    func forgetAll(of id: NodeID) { forget(id, .max) }

    /// At the very end. Blocks.
    func forgetEverything() {
        let all = references.withLock { references in
            defer { references = [:] }
            return references.values.map(\.draft)
        }
        for draft in all { draft.letGo() }
    }

    func node(_ id: NodeID) -> Node? { references.withLock { $0[id]?.node } }
    func draft(_ id: NodeID) -> (any DraftFile)? { references.withLock { $0[id]?.draft } }
}
