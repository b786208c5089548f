import CFuse3
import FileSystem
import Glibc
import Namespace

extension Operations {
    /// - Parameters:
    ///   - fields: Bits FUSE_SET_ATTR_… of the fields to set from `status`.
    ///   - handle: The open file of ftruncate(2); nil for a change by path.
    static func setattr(
        _ request: consuming Request, _ node: NodeID, _ status: stat, _ fields: Int32,
        through handle: FileHandle?
    ) {
        let context = request.context
        if context.repeatedChange.notice(of: request.thread) != nil { return getattr(request, node) }
        let change = AttributeChange(status, fields: fields, owner: context.owner)
        let answer = context.fileSystem.change(node, change, through: handle, by: request.thread)
        request.answer(answer) { request, attributes in
            request.attributes(attributes.status(of: context.owner), timeout: attributes.cacheTimeout)
        }
    }

    static func rename(
        _ request: consuming Request, _ old: (name: EntryName, folder: NodeID),
        to new: (name: EntryName, folder: NodeID), _ flags: UInt32
    ) {
        let (files, thread) = (request.context.fileSystem, request.thread)
        if case .renamed? = request.context.repeatedChange.notice(of: thread) { return request.succeed() }
        request.answer(
            files.rename(old.name, in: old.folder, to: new.name, in: new.folder, flags: flags, by: thread))
    }

    static func unlink(_ request: consuming Request, _ name: EntryName, in folder: NodeID) {
        if case .vanished? = request.context.repeatedChange.notice(of: request.thread) {
            return request.succeed()
        }
        request.answer(request.context.fileSystem.unlink(name, in: folder, by: request.thread))
    }

    /// Refuses devices, pipes and sockets with EPERM. With ENOSYS, programs would report less, and file managers would
    /// create `.Trash` instead of offering deletion. `WatcherProcess` creates an appeared entry while it is shown.
    static func make(_ request: consuming Request, _ name: EntryName, in folder: NodeID) {
        let context = request.context
        guard case .appeared(let node)? = context.repeatedChange.notice(of: request.thread),
            node.name == name,
            node.folder == folder
        else { return request.fail(EPERM) }
        show(request, node)
    }

    static func makeFolder(_ request: consuming Request, _ name: EntryName, in folder: NodeID) {
        let context = request.context
        guard case .appeared(let node)? = context.repeatedChange.notice(of: request.thread),
            node.name == name,
            node.folder == folder
        else {
            return request.answer(context.fileSystem.makeFolder(name, in: folder)) { request, made in
                let context = request.context
                if !request.entry(made.entry(of: context.owner)) { context.fileSystem.forget(made.id, 1) }
            }
        }
        show(request, node)
    }

    /// Answers `WatcherProcess`, which creates an appeared entry.
    private static func show(_ request: consuming Request, _ node: Node) {
        let context = request.context
        // A fresh lookup, because the node may have vanished or its folder may have been evicted since the notice.
        request.answer(context.fileSystem.lookup(node.name, in: node.folder)) { request, found in
            let isThere = found.id == node.id
            if !isThere {
                request.fail(ENOENT)
            } else if request.entry(found.entry(of: context.owner)) {
                return
            }
            context.fileSystem.forget(found.id, 1)
        }
    }

    static func rmdir(_ request: consuming Request, _ name: EntryName, in folder: NodeID) {
        if case .vanished? = request.context.repeatedChange.notice(of: request.thread) {
            return request.succeed()
        }
        request.answer(request.context.fileSystem.removeFolder(name, in: folder))
    }
}
