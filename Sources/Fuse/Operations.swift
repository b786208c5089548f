import Base
import CFuse3
import FileSystem
import Glibc
import Namespace

/// The table of operations that libfuse calls, on its own threads. Every function translates its
/// arguments, asks the file system, and answers: nothing is decided here. What is not in the table
/// (links, nodes of devices, locks beyond one machine) libfuse answers with ENOSYS or the kernel does
/// itself.
enum Operations {
    static func table() -> fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        table.`init` = { context, connection in
            guard let context, let connection else { return }
            let session = Unmanaged<FuseSession>.fromOpaque(context).takeUnretainedValue()
            Operations.configure(&connection.pointee, passthrough: session.passthrough.isWanted)
        }
        addLooking(to: &table)
        addListing(to: &table)
        addBytes(to: &table)
        addChanging(to: &table)
        addExtendedAttributes(to: &table)
        return table
    }

    /// What is agreed with the kernel when the mount begins.
    private static func configure(_ connection: inout fuse_conn_info, passthrough: Bool) {
        // The default of 12 lets a dozen readers of files that are not here yet stop the reads of all
        // others: page-cache reads count against it until they are answered.
        connection.max_background = 4096
        connection.congestion_threshold = 3072
        // Pages stay until they are invalidated by a notice, whatever happens to mtime and size.
        chatfs_fuse_do_not_want(&connection, UInt32(FUSE_CAP_AUTO_INVAL_DATA))
        chatfs_fuse_want(&connection, UInt32(FUSE_CAP_EXPLICIT_INVAL_DATA))
        // `ls -l` of ten thousand entries in one pass, plain `ls` without asking for attributes.
        chatfs_fuse_want(&connection, UInt32(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO))
        // Answers are decrypted in memory, so there is no pipe to splice from; and at 1 MiB libfuse
        // falls back to a fresh buffer per request.
        chatfs_fuse_do_not_want(
            &connection, UInt32(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE))
        chatfs_fuse_want_named(&connection, passthrough)
    }

    // MARK: - Looking

    private static func addLooking(to table: inout fuse_lowlevel_ops) {
        table.lookup = { pointer, parent, name in
            guard let pointer, let name else { return }
            let request = Request(pointer, RequestSubject("lookup", parent))
            let session = request.session
            let answer = session.fileSystem.lookup(EntryName(name), in: NodeID(UInt64(parent)))
            request.answer(answer) { request, attributes in
                if !request.entry(attributes.entry(of: session.owner)) {
                    session.fileSystem.forget(attributes.id, 1)
                }
            }
        }
        table.getattr = { pointer, node, _ in
            guard let pointer else { return }
            let request = Request(pointer, RequestSubject("getattr", node))
            let session = request.session
            switch session.fileSystem.attributes(NodeID(UInt64(node))) {
            case .success(let attributes):
                request.attributes(attributes.status(of: session.owner), timeout: attributes.keepFor)
            case .failure(let error): request.fail(error)
            }
        }
        // Never answered. It comes after everything else about the node, its releases too.
        table.forget = { pointer, node, count in
            guard let pointer else { return }
            Request(pointer, RequestSubject("forget", node)).forgotten {
                $0.fileSystem.forget(NodeID(UInt64(node)), count)
            }
        }
        table.forget_multi = { pointer, count, forgotten in
            guard let pointer else { return }
            let all = UnsafeBufferPointer(start: forgotten, count: count)
            Request(pointer, RequestSubject("forget_multi", 0)).forgotten { session in
                for one in all { session.fileSystem.forget(NodeID(one.ino), one.nlookup) }
            }
        }
        table.statfs = { pointer, node in
            guard let pointer else { return }
            let request = Request(pointer, RequestSubject("statfs", node))
            switch request.session.fileSystem.statistics() {
            case .success(let statistics): request.statistics(statistics)
            case .failure(let error): request.fail(error)
            }
        }
        table.access = { pointer, node, mask in
            guard let pointer else { return }
            let request = Request(pointer, RequestSubject("access", node))
            if let error = request.session.fileSystem.access(NodeID(UInt64(node)), mask: mask) {
                request.fail(error)
            } else {
                request.succeed()
            }
        }
    }

    // MARK: - Listing

    private static func addListing(to table: inout fuse_lowlevel_ops) {
        // The kernel then asks no more (FUSE_NO_OPENDIR_SUPPORT, Linux 5.1): it opens and closes folders by
        // itself and keeps each listing until the folder is invalidated.
        table.opendir = { pointer, node, _ in
            if let pointer { Request(pointer, RequestSubject("opendir", node)).fail(ENOSYS) }
        }
        table.readdir = { pointer, folder, size, offset, _ in
            guard let pointer else { return }
            Listing.answer(
                Request(pointer, RequestSubject("readdir", folder)), NodeID(UInt64(folder)), size, offset,
                withAttributes: false)
        }
        table.readdirplus = { pointer, folder, size, offset, _ in
            guard let pointer else { return }
            Listing.answer(
                Request(pointer, RequestSubject("readdirplus", folder)), NodeID(UInt64(folder)), size, offset,
                withAttributes: true)
        }
        table.fsyncdir = { pointer, node, _, _ in
            if let pointer { Request(pointer, RequestSubject("fsyncdir", node)).succeed() }
        }
    }

    // MARK: - Extended attributes

    private static func addExtendedAttributes(to table: inout fuse_lowlevel_ops) {
        table.getxattr = { pointer, node, name, size in
            guard let pointer, let name else { return }
            let request = Request(pointer, RequestSubject("getxattr", node))
            switch request.session.fileSystem.extendedAttribute(
                String(cString: name), of: NodeID(UInt64(node)))
            {
            case .failure(let error): request.fail(error)
            case .success(let value) where size == 0: request.attributeSize(value.count)
            case .success(let value) where value.count > size: request.fail(ERANGE)
            case .success(let value): request.bytes(value)
            }
        }
        table.listxattr = { pointer, node, size in
            guard let pointer else { return }
            let request = Request(pointer, RequestSubject("listxattr", node))
            if size == 0 { request.attributeSize(0) } else { request.bytes([]) }
        }
        table.setxattr = { pointer, node, name, value, size, flags in
            guard let pointer, let name else { return }
            let request = Request(pointer, RequestSubject("setxattr", node))
            let bytes = Array(UnsafeRawBufferPointer(start: value, count: size))
            let answer = request.session.fileSystem.setExtendedAttribute(
                String(cString: name), bytes, of: NodeID(UInt64(node)), flags: flags)
            request.answer(answer) { request, _ in request.succeed() }
        }
        table.removexattr = { pointer, node, name in
            guard let pointer, let name else { return }
            let request = Request(pointer, RequestSubject("removexattr", node))
            let error = request.session.fileSystem.removeExtendedAttribute(
                String(cString: name), of: NodeID(UInt64(node)))
            request.fail(error)
        }
    }
}

extension Request {
    /// Answers now, or from a task when the work that waits is done.
    consuming func answer<Value: Sendable>(
        _ answer: Answer<Value>, _ succeed: @escaping @Sendable (consuming Request, Value) -> Void
    ) {
        switch answer {
        case .now(.success(let value)): succeed(self, value)
        case .now(.failure(let error)): fail(error)
        case .later(let work):
            deferred().run {
                switch await work() {
                case .success(let value): return { succeed($0, value) }
                case .failure(let error): return { $0.fail(error) }
                }
            }
        }
    }
}
