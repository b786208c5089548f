import Base
import Namespace
import Outbox
import Posix

/// Counts the kernel's references to drafts (`nlookup` of FUSE). The kernel may request a referenced draft even after
/// its name is gone: for a process that looked up the name just before, or through `/proc/PID/fd`. The bytes are kept
/// until then.
///
/// Drafts only: a vanished item is not requested any more. Answers from memory; thread-safe.
final class KernelReferences: Sendable {
    private struct Reference {
        var node: Node
        let draft: any DraftFile
        var count: UInt64
    }

    private let references = Lock<[NodeID: Reference]>([:], rank: .collection)

    /// Adds a reference. Returns false if the draft is gone; the caller repeats its lookup.
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

    /// Drops `count` references.
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
            // Deletes bytes from the disk, so it must not run on a request thread.
            ThreadPool.shared.submit { draft.letGo() }
        } else {
            draft.letGo()
        }
    }

    /// Drops all references: the node is no draft any more.
    func forgetAll(of id: NodeID) { forget(id, .max) }

    /// Drops everything before shutdown. Blocks.
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
