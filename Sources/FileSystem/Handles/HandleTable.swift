import Base
import Namespace

/// The open files, by node: what is deleted can still be looked at through them. Any thread, from memory, but for
/// what closing a file does.
final class HandleTable: Sendable {
    private let open = Lock<[NodeID: [ObjectIdentifier: FileHandle]]>([:])

    /// One more opening, until `release`.
    func add(_ node: Node, _ source: any OpenSource) -> FileHandle {
        let handle = FileHandle(node: node, source: source)
        open.withLock { $0[node.id, default: [:]][ObjectIdentifier(handle)] = handle }
        return handle
    }

    /// Closes it, unless that was done already. May wait for the disk when it is the last of a draft.
    func release(_ handle: FileHandle) {
        let wasOpen = open.withLock { open in
            let known = open[handle.id]?.removeValue(forKey: ObjectIdentifier(handle)) != nil
            if open[handle.id]?.isEmpty == true { open[handle.id] = nil }
            return known
        }
        if wasOpen { handle.source.close() }
    }

    /// Closes those of which `isWanted` says so.
    func releaseAll(where isWanted: (FileHandle) -> Bool) {
        let all = open.withLock { $0.values.flatMap { Array($0.values) } }
        for handle in all where isWanted(handle) { release(handle) }
    }

    /// Whether anybody is writing at present.
    var hasWriters: Bool {
        open.withLock { $0.values.contains { $0.values.contains(where: \.source.isForWriting) } }
    }

    /// Whether somebody has a file of a folder open.
    func hasOpen(in folder: NodeID) -> Bool {
        open.withLock { $0.values.contains { $0.first?.value.node.folder == folder } }
    }

    /// One of the openings of a node.
    func handle(on id: NodeID) -> FileHandle? { open.withLock { $0[id]?.first?.value } }
}
