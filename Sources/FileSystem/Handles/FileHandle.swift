import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// One open file. The kernel keeps it between open and release.
public final class FileHandle: Sendable {
    enum Source: Sendable {
        case content(any OpenContent, size: UInt64)
        case draft(any DraftFile, DraftOpening)
        /// Made when it was opened: `status.json`, `transfers`.
        case produced([UInt8])
    }

    let node: Node
    let source: Source

    init(node: Node, source: Source) {
        self.node = node
        self.source = source
    }

    public var id: NodeID { node.id }

    /// The bytes of all of it as they are, checked, in a file of the cache; nil while there is none.
    public var wholePlainFile: OpenFile? {
        if case .content(let content, _) = source { content.wholePlainFile } else { nil }
    }

    /// Nothing can be written through this opening, so there is nothing to do when a descriptor is closed.
    public var needsNoFlush: Bool {
        !isForWriting
    }

    var isForWriting: Bool {
        if case .draft(_, let opening) = source { opening.access == .writing } else { false }
    }

    /// Whether somebody may be in the middle of writing.
    var isUnfinished: Bool {
        if case .draft(let draft, let opening) = source { !draft.isFinished(opening) } else { false }
    }

    /// Pages of earlier openings may stay in the kernel's cache.
    public var keepsPages: Bool {
        switch source {
        case .content(let content, _): !content.wasOutdated
        case .draft: true
        case .produced: false
        }
    }

    /// The size in `stat` is not the truth by the time it is read.
    public var bypassesPages: Bool {
        if case .produced = source { true } else { false }
    }
}
