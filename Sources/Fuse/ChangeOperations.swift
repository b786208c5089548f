import CFuse3
import FileSystem
import Glibc
import Namespace

extension Operations {
    static func addChanging(to table: inout fuse_lowlevel_ops) {
        table.setattr = { pointer, node, status, fields, _ in
            guard let pointer, let status else { return }
            let request = Request(pointer, RequestSubject("setattr", node))
            let session = request.session
            let change = AttributeChange(status.pointee, fields: fields, owner: session.owner)
            request.answer(session.fileSystem.change(NodeID(UInt64(node)), change)) { request, attributes in
                request.attributes(attributes.status(of: session.owner), timeout: attributes.keepFor)
            }
        }
        table.rename = { pointer, folder, name, newFolder, newName, flags in
            guard let pointer, let name, let newName else { return }
            let request = Request(pointer, RequestSubject("rename", folder))
            let answer = request.session.fileSystem.rename(
                EntryName(name), in: NodeID(UInt64(folder)), to: EntryName(newName),
                in: NodeID(UInt64(newFolder)), flags: flags)
            request.answer(answer) { request, _ in request.succeed() }
        }
        table.unlink = { pointer, folder, name in
            guard let pointer, let name else { return }
            let request = Request(pointer, RequestSubject("unlink", folder))
            let answer = request.session.fileSystem.unlink(EntryName(name), in: NodeID(UInt64(folder)))
            request.answer(answer) { request, _ in request.succeed() }
        }
        // Folders are chats. EPERM rather than ENOSYS: programs then say what happened, and file
        // managers offer to delete for good instead of making a `.Trash` folder here.
        table.mkdir = { pointer, node, _, _ in
            if let pointer { Request(pointer, RequestSubject("mkdir", node)).fail(EPERM) }
        }
        table.rmdir = { pointer, node, _ in
            if let pointer { Request(pointer, RequestSubject("rmdir", node)).fail(EPERM) }
        }
        table.symlink = { pointer, _, folder, _ in
            if let pointer { Request(pointer, RequestSubject("symlink", folder)).fail(EPERM) }
        }
        table.link = { pointer, node, _, _ in
            if let pointer { Request(pointer, RequestSubject("link", node)).fail(EPERM) }
        }
        table.mknod = { pointer, node, _, _, _ in
            if let pointer { Request(pointer, RequestSubject("mknod", node)).fail(EPERM) }
        }
    }
}
