import Base
import CFuse3
import CLinux
import FileSystem
import Glibc
import Posix

/// Answers the requests that come over one connection: libfuse's session with our operations, and the threads of
/// `RequestLoop`.
///
/// libfuse's memory is not given back: late notices may still hold the session, and a process serves one mount.
final class RequestServer: @unchecked Sendable {
    // Safe: libfuse's functions that are called on `session` from several threads (notices, exit) are made for that.
    private let session: OpaquePointer
    private let context: RequestContext

    /// Nil when libfuse has no memory. Requests come after `mount` or `connect`.
    /// - Parameter isListed: whether the lists of volumes that desktops make have the mount. GLib leaves out what is
    ///   mounted from "none" (`g_unix_is_system_device_path`); x-gvfs-hide, which is for that, libfuse does not know.
    init?(_ context: RequestContext, isListed: Bool = true) {
        self.context = context
        // No allow_other and no default_permissions: only the mounting user gets in, and the file
        // system decides. nosuid, nodev and noexec: what others sent is data.
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

    /// False when that is refused.
    func mount(at path: String) -> Bool {
        // fusermount3 gets its privileges from that thread alone.
        ChildProcess.onStartingThread { fuse_session_mount(self.session, path) } == 0
    }

    /// Takes requests from there instead of a mount. False when libfuse refuses.
    /// - Parameter connection: to who takes the kernel's place in tests. It is libfuse's from then on.
    func connect(to connection: Int32) -> Bool { fuse_session_mount(session, "/dev/fd/\(connection)") == 0 }

    func unmount() { ChildProcess.onStartingThread { fuse_session_unmount(self.session) } }

    /// Answers requests until the connection ends. Blocks.
    func run() { RequestLoop(session, context).run() }

    /// Each thread ends when it has answered its next request.
    func stopAfterNext() { fuse_session_exit(session) }

    /// Wakes one of the threads that wait for a request.
    func provokeRequest() { RequestLoop.provokeRequest(of: session) }

    /// One more descriptor of the connection. Blocks no longer than open(2) of a device.
    func another() throws(SystemError) -> OpenFile {
        let connection = fuse_session_fd(session)
        return OpenFile(adopting: try check("open the connection again") { chatfs_fuse_clone(connection) })
    }

    /// Gives the one thread of `notices` descriptors of its own, in which libfuse's number stands for another
    /// descriptor of the connection. Blocks until it has them.
    func separateNotices(on notices: ThreadPool) throws(SystemError) {
        let connection = fuse_session_fd(session)
        let another = try another()
        // By its number: if the thread had the last reference, it would close it among its own.
        let outcome = Monitor<Int32?>(nil)
        notices.submit { [number = another.descriptor] in
            let code = chatfs_have_alone(connection, number) == 0 ? 0 : errno
            outcome.change { $0 = code }
        }
        let code = withExtendedLifetime(another) { outcome.wait { $0 } }
        guard code == 0 else { throw SystemError(code: code, operation: "have descriptors of its own") }
    }

    /// With its last descriptor the connection ends for copies of the mount in other mount namespaces too. The
    /// number stays taken: late notices and answers go nowhere, not into another file. For the descriptors of the
    /// calling thread, which are those of the process unless `separateNotices` gave it others.
    func closeConnection() {
        do throws(SystemError) {
            let nowhere = try OpenFile("/dev/null", flags: O_RDWR)
            try check("close the connection to the kernel") {
                chatfs_replace_descriptor(fuse_session_fd(session), nowhere.descriptor)
            }
        } catch {
            Log("mount").warning("\(error.sentence) It ends with the process.")
        }
    }

    /// Has the kernel drop what it keeps. May wait for locks of the kernel that a request holds.
    func send(_ notice: KernelNotice) {
        // ENOENT says that the kernel has nothing of it; anything else, that the mount is gone.
        switch notice {
        case .attributes(let node):
            fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(node.rawValue), -1, 0)
        case .content(let node):
            fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(node.rawValue), 0, 0)
        case .entry(let name, let folder):
            let parent = fuse_ino_t(folder.rawValue)
            // libfuse writes one byte more than the length says: the NUL behind the name.
            (name.bytes + [0]).withUnsafeBytes { bytes in
                _ = fuse_lowlevel_notify_inval_entry(
                    session, parent, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count - 1)
            }
            fuse_lowlevel_notify_inval_inode(session, parent, 0, 0)
        }
    }
}
