import Base
import CFuse3
import CLinux
import FileSystem
import Glibc
import Posix

/// One mounted file system: libfuse's session, its threads, and the notices to the kernel.
///
/// `init` mounts, `run` answers requests on threads of libfuse's own until the end, which `unmountIfIdle` or
/// `end` from any other thread brings. libfuse's memory is not given back: late notices may still hold
/// the session, and a process serves one mount.
public final class FuseSession: @unchecked Sendable {
    // Safe: `session` and `mount` are set once, in `init`; libfuse's functions that are called on it from several
    // threads (notices, exit) are made for that.
    let fileSystem: FileSystem
    let owner: Owner
    let buffers = ReplyBuffers()
    let counts = RequestCounts()
    let failures = FailureLog()
    let nextRequest = NextRequest()
    let passthrough: Passthrough
    /// The first request of the kernel, until it is answered.
    let handshake = Lock<Handshake?>(nil)
    /// Absolute, without symbolic links.
    public let mountpoint: String
    /// What this session is, among all that may come to be mounted at its path.
    private var mount: MountTable.Mount?
    private var session: OpaquePointer?
    /// Notices wait for locks of the kernel that a request may hold while it is answered: they have a
    /// thread of their own, never one of libfuse's.
    private let notices = ThreadPool(name: "notices", threads: 1)

    /// Threads that answer requests. Nothing they do waits for more than this machine's disk.
    private static let threads: UInt32 = 8

    /// Mounts `fileSystem` at `mountpoint`. From then on requests wait until `run` answers them.
    /// - Parameter folder: where finished files lie as they are, which the kernel may then read itself; nil:
    ///   there are none.
    public init(
        _ fileSystem: FileSystem, at mountpoint: Mountpoint, plainFilesIn folder: OpenFile? = nil
    ) throws(FuseError) {
        passthrough = Passthrough(filesIn: folder)
        self.fileSystem = fileSystem
        self.mountpoint = mountpoint.path
        owner = Owner(user: geteuid(), group: getegid())
        // No allow_other and no default_permissions: only the mounting user gets in, and the file
        // system decides. nosuid, nodev and noexec: what others sent is data.
        let words = ["chatfs", "-o", "fsname=chatfs,subtype=chatfs,nosuid,nodev,noexec"]
        var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        var operations = Operations.table()
        let context = Unmanaged.passRetained(self)
        session = pointers.withUnsafeMutableBufferPointer { buffer in
            var arguments = fuse_args(argc: Int32(buffer.count), argv: buffer.baseAddress, allocated: 0)
            defer { fuse_opt_free_args(&arguments) }
            return chatfs_fuse_session_new(&arguments, &operations, context.toOpaque())
        }
        // fusermount3 gets its privileges from that thread alone.
        nonisolated(unsafe) let made = session
        guard made != nil, ChildProcess.onStartingThread({ fuse_session_mount(made, mountpoint.path) }) == 0,
            Self.connect(session)
        else {
            context.release()
            throw FuseError(
                .refused,
                "The folder could not be mounted: is FUSE there (package fuse3, /dev/fuse) and allowed?")
        }
        do throws(SystemError) {
            mount = try MountTable.mount(at: mountpoint.path)
        } catch {
            ChildProcess.onStartingThread { fuse_session_unmount(made) }
            throw FuseError(
                .refused, "The folder was mounted, but the mount table cannot be read.", cause: error)
        }
        fileSystem.askKernelSide { [self] in
            KernelSide(passthrough: passthrough.report, operations: counts.named, failures: failures.counts)
        }
        fileSystem.tellKernel { [self] notice in notices.submit { self.send(notice) } }
    }

    /// Answers requests until the mount is gone. Blocks.
    public func run() {
        let configuration = fuse_loop_cfg_create()
        defer { fuse_loop_cfg_destroy(configuration) }
        fuse_loop_cfg_set_max_threads(configuration, Self.threads)
        // As many may idle as there are: with fewer, threads are made and ended per burst, at a tenth
        // of the speed.
        fuse_loop_cfg_set_idle_threads(configuration, Self.threads)
        fuse_session_loop_mt(session, configuration)
        fileSystem.tellKernel(through: nil)
        closeConnection()
    }

    /// Takes the mount away, unless something on it is open.
    public func unmountIfIdle() async -> MountTable.Mount.Ending { await mount?.unmountIfIdle() ?? .gone }

    /// Whether the mount has left the mount table; false where that cannot be known.
    public func isGone() async -> Bool {
        let mount = mount
        return await ThreadPool.shared.run { (try? mount?.exists()) == false }
    }

    /// Calls `gone` when the mount has left the mount table, also where a copy of it in another mount namespace, or
    /// somebody's open file, keeps the connection alive.
    public func watch(gone: @escaping @Sendable () -> Void) throws(SystemError) -> MountWatch? {
        guard let mount else { return nil }
        return try MountWatch(mount, gone: gone)
    }

    /// Takes the mount out of the tree, whoever uses it, and has `run` return. Files that are open end with the
    /// connection; what was being written to them is not complete.
    public func end() async {
        fuse_session_exit(session)
        if await mount?.detach() == .covered {
            Log("mount").warning(
                "Something else is mounted over this mount: it stays there, without its files, until that is taken "
                    + "away and 'chatfs unmount' has been run.")
        }
        // The threads wait in read(2) for a request and look at the exit mark after one: the kernel's
        // answer to this notice is one.
        fuse_lowlevel_notify_retrieve(session, fuse_ino_t(FUSE_ROOT_ID), 1, 0, nil)
    }

    /// With its last descriptor the connection ends for copies of the mount in other mount namespaces too. The
    /// number stays taken: late notices and answers go nowhere, not into another file.
    private func closeConnection() {
        do throws(SystemError) {
            let nowhere = try OpenFile("/dev/null", flags: O_RDWR)
            try check("close the connection to the kernel") {
                chatfs_replace_descriptor(fuse_session_fd(session), nowhere.descriptor)
            }
        } catch {
            Log("mount").warning("\(error.sentence) It ends with the process.")
        }
    }

    private func send(_ notice: KernelNotice) {
        // ENOENT says that the kernel has nothing of it; anything else, that the mount is gone.
        switch notice {
        case .attributes(let node):
            fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(node.rawValue), -1, 0)
        case .content(let node):
            fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(node.rawValue), 0, 0)
        case .entry(let name, let folder):
            let parent = fuse_ino_t(folder.rawValue)
            name.bytes.withUnsafeBytes { bytes in
                _ = fuse_lowlevel_notify_inval_entry(
                    session, parent, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
            }
            fuse_lowlevel_notify_inval_inode(session, parent, 0, 0)
        }
    }
}
