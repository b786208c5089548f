import Base
import CFuse3
import CLinux
import FileSystem
import Glibc
import Posix

/// Serves the requests of one connection with libfuse's session, the table of `Operations` and the threads of
/// `RequestLoop`.
///
/// libfuse's memory is never freed: late notices may still use the session, and a process serves one mount.
final class RequestServer: @unchecked Sendable {
    // Safe: the libfuse functions that several threads call on `session` (notices, exit) are thread-safe.
    private let session: OpaquePointer
    private let context: RequestContext

    /// Returns nil if libfuse is out of memory. Requests follow `mount` or `connect`.
    /// - Parameter isListed: True to show the mount in the desktop's list of volumes. GLib hides mounts of source
    ///   "none" (`g_unix_is_system_device_path`); libfuse rejects the option meant for that, x-gvfs-hide.
    init?(_ context: RequestContext, isListed: Bool = true) {
        self.context = context
        // Without allow_other and default_permissions, only the mounting user has access, and the file system checks
        // permissions. Received data needs nosuid, nodev and noexec.
        let words = [
            "chatfs", "-o", "fsname=\(isListed ? "chatfs" : "none"),subtype=chatfs,nosuid,nodev,noexec",
        ]
        var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        var operations = Operations.table()
        let held = Unmanaged.passRetained(context)
        let made = pointers.withUnsafeMutableBufferPointer { buffer in
            var arguments = fuse_args(argc: Int32(buffer.count), argv: buffer.baseAddress, allocated: 0)
            defer { fuse_opt_free_args(&arguments) }
            return chatfs_fuse_session_new(&arguments, &operations, held.toOpaque())
        }
        guard let made else {
            held.release()
            return nil
        }
        session = made
    }

    /// Returns false if mounting is refused.
    func mount(at path: String) -> Bool {
        // fusermount3 gets its privileges from that thread alone.
        ChildProcess.onStartingThread { fuse_session_mount(self.session, path) } == 0
    }

    /// Serves requests from a socket instead of a mount. Returns false if libfuse refuses.
    /// - Parameter connection: Socket to the test that replaces the kernel; owned by libfuse afterwards.
    func connect(to connection: Int32) -> Bool { fuse_session_mount(session, "/dev/fd/\(connection)") == 0 }

    func unmount() { ChildProcess.onStartingThread { fuse_session_unmount(self.session) } }

    /// Serves requests until the connection ends. Blocks.
    func run() { RequestLoop(session, context).run() }

    /// Makes each thread stop after its next request.
    func stopAfterNext() { fuse_session_exit(session) }

    /// Wakes a thread that waits for a request.
    func provokeRequest() { RequestLoop.provokeRequest(of: session) }

    /// Opens another descriptor of the connection. Blocks no longer than open(2) of a device.
    func another() throws(SystemError) -> OpenFile {
        let connection = fuse_session_fd(session)
        return OpenFile(adopting: try check("open the connection again") { chatfs_fuse_clone(connection) })
    }

    /// Gives the single thread of `notices` a separate descriptor table, in which libfuse's number is another
    /// descriptor of the connection. Blocks until done.
    func separateNotices(on notices: ThreadPool) throws(SystemError) {
        let connection = fuse_session_fd(session)
        let another = try another()
        // Passed by number: the last reference on that thread would close the descriptor in its own table.
        let outcome = Monitor<Int32?>(nil)
        notices.submit { [number = another.descriptor] in
            let code = chatfs_have_alone(connection, number) == 0 ? 0 : errno
            outcome.change { $0 = code }
        }
        let code = withExtendedLifetime(another) { outcome.wait { $0 } }
        guard code == 0 else { throw SystemError(code: code, operation: "have descriptors of its own") }
    }

    /// Closes the connection, which also ends copies of the mount in other mount namespaces. /dev/null replaces the
    /// descriptor, so that late notices and replies do not reach another file. Affects the calling thread's descriptor
    /// table, which is the process's unless `separateNotices` gave it another.
    func closeConnection() {
        do throws(SystemError) {
            let nowhere = try OpenFile("/dev/null", flags: O_RDWR)
            try check("close the connection to the kernel") {
                chatfs_replace_descriptor(fuse_session_fd(session), nowhere.descriptor)
            }
        } catch {
            Log("mount").warning("connection not closed before exit: error=\(error.sentence)")
        }
    }

    /// Invalidates kernel caches. May wait for kernel locks that a request holds.
    func send(_ notice: KernelNotice) {
        // ENOENT: nothing is cached. Any other error: the mount is gone.
        switch notice {
        case .attributes(let node):
            fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(node.rawValue), -1, 0)
        case .content(let node):
            fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(node.rawValue), 0, 0)
        case .entry(let name, let folder):
            let parent = fuse_ino_t(folder.rawValue)
            // libfuse reads one byte beyond the length: the terminating NUL.
            (name.bytes + [0]).withUnsafeBytes { bytes in
                _ = fuse_lowlevel_notify_inval_entry(
                    session, parent, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count - 1)
            }
            fuse_lowlevel_notify_inval_inode(session, parent, 0, 0)
        }
    }
}
