import CFuse3
import FileSystem
import Glibc
import Namespace

extension Operations {
    static func lookup(_ request: consuming Request, _ name: EntryName, in folder: NodeID) {
        let context = request.context
        switch context.repeatedChange.name(name, in: folder, for: request.thread) {
        case .absent: return request.fail(ENOENT)
        case .present(let node): return present(request, node, in: folder)
        case nil: break
        }
        request.answer(context.fileSystem.lookup(name, in: folder)) { request, attributes in
            if !request.entry(attributes.entry(of: context.owner)) {
                context.fileSystem.forget(attributes.id, 1)
            }
        }
    }

    /// Answers `WatcherProcess` for an entry that it removes or renames.
    private static func present(_ request: consuming Request, _ node: NodeID, in folder: NodeID) {
        let context = request.context
        var entry: fuse_entry_param
        if case .now(.success(let attributes)) = context.fileSystem.attributes(node) {
            // The file is still open elsewhere; its attributes stay as they are.
            entry = attributes.entry(of: context.owner)
        } else {
            entry = Attributes.ofVanished(node, isFolder: folder == .root || node.isPasted).entry(
                of: context.owner)
        }
        (entry.entry_timeout, entry.attr_timeout) = (CacheTimeout.never, CacheTimeout.never)
        _ = request.entry(entry)
    }

    static func getattr(_ request: consuming Request, _ node: NodeID) {
        let context = request.context
        request.answer(context.fileSystem.attributes(node)) { request, attributes in
            request.attributes(attributes.status(of: context.owner), timeout: attributes.cacheTimeout)
        }
    }

    /// Called after all other operations on the nodes, releases included.
    static func forget(_ request: consuming Request, _ forgotten: [(node: NodeID, count: UInt64)]) {
        for one in forgotten { request.context.fileSystem.forget(one.node, one.count) }
        request.forgotten()
    }

    static func statfs(_ request: consuming Request) {
        switch request.context.fileSystem.statistics() {
        case .success(let statistics): request.statistics(statistics)
        case .failure(let error): request.fail(error)
        }
    }

    static func access(_ request: consuming Request, _ node: NodeID, _ mask: Int32) {
        let files = request.context.fileSystem
        request.answer(files.access(node, mask: mask))
    }
}
