import Base
import Namespace

/// The open files by node. Deleted files stay readable through their handles. Answers from memory, except that closing
/// may block; thread-safe.
final class HandleTable: Sendable {
    private let open = Lock<[NodeID: [ObjectIdentifier: FileHandle]]>([:])

    /// Adds an opening. `release` ends it.
    func add(_ node: Node, _ source: any OpenSource) -> FileHandle {
        let handle = FileHandle(node: node, source: source)
        open.withLock { $0[node.id, default: [:]][ObjectIdentifier(handle)] = handle }
        return handle
    }

    /// Closes a handle once; later calls have no effect. The last close of a draft may wait for the disk.
    func release(_ handle: FileHandle) {
        let wasOpen = open.withLock { open in
            let known = open[handle.id]?.removeValue(forKey: ObjectIdentifier(handle)) != nil
            if open[handle.id]?.isEmpty == true { open[handle.id] = nil }
            return known
        }
        if wasOpen { handle.source.close() }
    }

    /// Closes the handles for which `isWanted` returns true.
    func releaseAll(where isWanted: (FileHandle) -> Bool) {
        let all = open.withLock { $0.values.flatMap { Array($0.values) } }
        for handle in all where isWanted(handle) { release(handle) }
    }

    /// True if any handle is open for writing.
    var hasWriters: Bool {
        open.withLock { $0.values.contains { $0.values.contains(where: \.source.isForWriting) } }
    }

    /// Returns true if any file of the folder is open.
    func hasOpen(in folder: NodeID) -> Bool {
        open.withLock { $0.values.contains { $0.first?.value.node.folder == folder } }
    }

    /// Returns one handle of the node.
    func handle(on id: NodeID) -> FileHandle? { open.withLock { $0[id]?.first?.value } }
}
