import Base
import FileSystem
import Glibc
import Posix

/// One mounted file system: the mount, the server of its requests, and the notices to the kernel.
///
/// `init` mounts, `run` answers requests on threads of its own until the end, which `unmountIfIdle` or
/// `end` from any other thread brings.
public final class FuseSession: Sendable {
    private let fileSystem: any FileOperations
    private let server: RequestServer
    /// Absolute, without symbolic links.
    public let mountpoint: String
    /// What this session is, among all that may come to be mounted at its path.
    private let mount: MountTable.Mount?
    private let notices: KernelNotices
    /// nil where watchers cannot be told.
    private let watchers: WatcherNotices?

    /// Mounts `fileSystem` at `mountpoint`. From then on requests wait until `run` answers them.
    /// - Parameters:
    ///   - folder: where finished files lie as they are, which the kernel may then read itself; nil:
    ///     there are none.
    ///   - isListed: whether the lists of volumes that desktops make have it.
    /// - Throws: `.refused`.
    public init(
        _ fileSystem: any FileOperations, at mountpoint: Mountpoint, plainFilesIn folder: OpenFile? = nil,
        isListed: Bool = true
    ) throws(FuseError) {
        self.fileSystem = fileSystem
        self.mountpoint = mountpoint.path
        let context = RequestContext(fileSystem, plainFilesIn: folder)
        guard let server = RequestServer(context, isListed: isListed), server.mount(at: mountpoint.path)
        else {
            throw FuseError(
                .refused,
                "The folder could not be mounted: is FUSE there (package fuse3, /dev/fuse) and allowed?")
        }
        self.server = server
        do throws(SystemError) {
            mount = try MountTable.mount(at: mountpoint.path)
        } catch {
            server.unmount()
            throw FuseError(
                .refused, "The folder was mounted, but the mount table cannot be read.", cause: error)
        }
        let notices = KernelNotices(server)
        self.notices = notices
        watchers = mount.flatMap { Self.watchers(of: $0, server, context) }
        fileSystem.tellWatchers { [watchers] notice in watchers?.add(notice) }
        fileSystem.askKernelSide { context.kernelSide }
        fileSystem.tellKernel { notice in notices.send(notice) }
    }

    /// Answers requests until the mount is gone. Blocks.
    public func run() {
        server.run()
        stopTellingWatchers()
        fileSystem.tellKernel(through: nil)
        server.closeConnection()
        notices.end()
    }

    private static func watchers(
        of mount: MountTable.Mount, _ server: RequestServer, _ context: RequestContext
    ) -> WatcherNotices? {
        do throws(SystemError) {
            return try WatcherNotices(of: mount, server, context.fileSystem, context.ownCalls)
        } catch {
            Log("mount").warning("Open windows will not be told what arrives: \(error.sentence)")
            return nil
        }
    }

    /// What changes from now on is not told to those who watch folders: for that the mount is used.
    public func stopTellingWatchers() {
        fileSystem.tellWatchers(through: nil)
        watchers?.stop()
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
    /// - Throws: as `MountWatch`.
    public func watch(gone: @escaping @Sendable () -> Void) throws(SystemError) -> MountWatch? {
        guard let mount else { return nil }
        return try MountWatch(mount, gone: gone)
    }

    /// Takes the mount out of the tree, whoever uses it, and has `run` return. Files that are open end with the
    /// connection; what was being written to them is not complete.
    public func end() async {
        server.stopAfterNext()
        if await mount?.detach() == .covered {
            Log("mount").warning(
                "Something else is mounted over this mount: it stays there, without its files, until that is taken "
                    + "away and 'chatfs unmount' has been run.")
        }
        server.provokeRequest()
    }
}
