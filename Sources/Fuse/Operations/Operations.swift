import CFuse3
import FileSystem
import Glibc
import Namespace

/// The table of libfuse operations, called on its request threads. Translates C into Swift and a request into a value
/// that must be answered. The functions, named after their operations, call the file system and reply; they decide
/// nothing. libfuse answers operations missing from the table with ENOSYS, or the kernel handles them itself.
enum Operations {
    static func table() -> fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        table.`init` = { pointer, connection in
            guard let pointer, let connection else { return }
            let context = Unmanaged<RequestContext>.fromOpaque(pointer).takeUnretainedValue()
            ConnectionOptions.set(on: &connection.pointee, passthrough: context.passthrough.isWanted)
        }
        addLookup(to: &table)
        addListing(to: &table)
        addOpenFiles(to: &table)
        addModification(to: &table)
        addRefused(to: &table)
        addExtendedAttributes(to: &table)
        return table
    }

    private static func addLookup(to table: inout fuse_lowlevel_ops) {
        table.lookup = { request, folder, name in
            Operations.lookup(Request(request, "lookup", folder), EntryName(name), in: NodeID(folder))
        }
        table.getattr = { request, node, _ in
            Operations.getattr(Request(request, "getattr", node), NodeID(node))
        }
        table.forget = { request, node, count in
            Operations.forget(Request(request, "forget", node), [(NodeID(node), count)])
        }
        table.forget_multi = { request, count, forgotten in
            let all = UnsafeBufferPointer(start: forgotten, count: count)
            Operations.forget(Request(request, "forget_multi", 0), all.map { (NodeID($0.ino), $0.nlookup) })
        }
        table.statfs = { request, node in Operations.statfs(Request(request, "statfs", node)) }
        table.access = { request, node, mask in
            Operations.access(Request(request, "access", node), NodeID(node), mask)
        }
    }

    private static func addListing(to table: inout fuse_lowlevel_ops) {
        table.opendir = { request, node, _ in Operations.opendir(Request(request, "opendir", node)) }
        table.readdir = { request, folder, size, offset, _ in
            Operations.readdir(Request(request, "readdir", folder), Listing(folder, size, offset, false))
        }
        table.readdirplus = { request, folder, size, offset, _ in
            Operations.readdir(Request(request, "readdirplus", folder), Listing(folder, size, offset, true))
        }
        table.fsyncdir = { request, node, _, _ in
            Operations.fsyncdir(Request(request, "fsyncdir", node), NodeID(node))
        }
    }

    private static func addOpenFiles(to table: inout fuse_lowlevel_ops) {
        table.open = { request, node, info in
            Operations.open(Request(request, "open", node), NodeID(node), Opening(info))
        }
        table.create = { request, folder, name, _, info in
            Operations.create(
                Request(request, "create", folder), EntryName(name), in: NodeID(folder), Opening(info))
        }
        table.read = { request, node, size, offset, info in
            Operations.read(Request(request, "read", node), FileHandle.of(info), size, at: offset)
        }
        table.write = { request, node, bytes, size, offset, info in
            let bytes = UnsafeRawBufferPointer(start: bytes, count: size)
            Operations.write(Request(request, "write", node), FileHandle.of(info), bytes, at: offset)
        }
        table.flush = { request, node, info in
            Operations.flush(Request(request, "flush", node), FileHandle.of(info))
        }
        table.release = { request, node, info in
            Operations.release(Request(request, "release", node), FileHandle.taken(from: info))
        }
        table.fsync = { request, node, _, info in
            Operations.fsync(Request(request, "fsync", node), FileHandle.of(info))
        }
    }

    private static func addModification(to table: inout fuse_lowlevel_ops) {
        table.setattr = { request, node, status, fields, info in
            Operations.setattr(
                Request(request, "setattr", node), NodeID(node), status?.pointee ?? stat(), fields,
                through: FileHandle.of(info))
        }
        table.rename = { request, folder, name, newFolder, newName, flags in
            Operations.rename(
                Request(request, "rename", folder), (EntryName(name), NodeID(folder)),
                to: (EntryName(newName), NodeID(newFolder)), flags)
        }
        table.unlink = { request, folder, name in
            Operations.unlink(Request(request, "unlink", folder), EntryName(name), in: NodeID(folder))
        }
    }

    /// Operations that are mostly refused: folders are chats, and there are no links or devices.
    private static func addRefused(to table: inout fuse_lowlevel_ops) {
        table.mkdir = { request, folder, name, _ in
            Operations.makeFolder(Request(request, "mkdir", folder), EntryName(name), in: NodeID(folder))
        }
        table.rmdir = { request, folder, name in
            Operations.rmdir(Request(request, "rmdir", folder), EntryName(name), in: NodeID(folder))
        }
        table.symlink = { request, _, folder, _ in Request(request, "symlink", folder).fail(EPERM) }
        table.link = { request, node, _, _ in Request(request, "link", node).fail(EPERM) }
        table.mknod = { request, folder, name, _, _ in
            Operations.make(Request(request, "mknod", folder), EntryName(name), in: NodeID(folder))
        }
    }

    private static func addExtendedAttributes(to table: inout fuse_lowlevel_ops) {
        table.getxattr = { request, node, name, size in
            Operations.getxattr(Request(request, "getxattr", node), NodeID(node), Operations.text(name), size)
        }
        table.listxattr = { request, node, size in
            Operations.listxattr(Request(request, "listxattr", node), size)
        }
        table.setxattr = { request, node, name, value, size, flags in
            let value = Array(UnsafeRawBufferPointer(start: value, count: size))
            Operations.setxattr(
                Request(request, "setxattr", node), NodeID(node), Operations.text(name), value, flags)
        }
        table.removexattr = { request, node, name in
            Operations.removexattr(Request(request, "removexattr", node), NodeID(node), Operations.text(name))
        }
    }

    /// The kernel always sends the names of a request.
    private static func text(_ name: UnsafePointer<CChar>?) -> String {
        name.map { String(cString: $0) } ?? ""
    }
}
