import Base
import FileSystem
import Glibc
import Posix

/// A mounted file system: the mount, its request server and its notices to the kernel.
///
/// `init` mounts. `run` serves requests on threads of its own until `unmountIfIdle` or `end` is called from another
/// thread.
public final class FuseSession: Sendable {
    private let fileSystem: any FileOperations
    private let server: RequestServer
    /// Absolute, without symbolic links.
    public let mountpoint: String
    /// Identifies this mount among all mounts at its path.
    private let mount: MountTable.Mount?
    private let notices: KernelNotices
    /// nil if watchers cannot be notified.
    private let watchers: WatcherNotices?

    /// Mounts `fileSystem` at `mountpoint`. Requests wait until `run` serves them.
    /// - Parameters:
    ///   - metrics: Counts this mount's requests.
    ///   - folder: Directory of the plain cache, whose files the kernel may read; nil if there is none.
    ///   - isListed: True to show the mount in the desktop's list of volumes.
    /// - Throws: `.refused`.
    public init(
        _ fileSystem: any FileOperations, at mountpoint: Mountpoint,
        metrics: RequestMetrics = RequestMetrics(), plainFilesIn folder: OpenFile? = nil,
        isListed: Bool = true
    ) throws(FuseError) {
        self.fileSystem = fileSystem
        self.mountpoint = mountpoint.path
        let context = RequestContext(fileSystem, metrics: metrics, plainFilesIn: folder)
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

    /// Serves requests until the mount is gone. Blocks.
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
            return try WatcherNotices(of: mount, server, context.fileSystem, context.repeatedChange)
        } catch {
            Log("mount").warning("folder watchers not notified: error=\(error.sentence)")
            return nil
        }
    }

    /// Stops notifying folder watchers, which uses the mount.
    public func stopTellingWatchers() {
        fileSystem.tellWatchers(through: nil)
        watchers?.stop()
    }

    /// Unmounts unless a file is open.
    public func unmountIfIdle() async -> MountTable.Mount.Ending { await mount?.unmountIfIdle() ?? .gone }

    /// Returns true if the mount has left the mount table; false if that is unknown.
    public func isGone() async -> Bool {
        let mount = mount
        return await ThreadPool.shared.run { (try? mount?.exists()) == false }
    }

    /// Calls `gone` when the mount has left the mount table, even if an open file or a copy in another mount namespace
    /// keeps the connection alive.
    /// - Throws: As `MountWatch`.
    public func watch(gone: @escaping @Sendable () -> Void) throws(SystemError) -> MountWatch? {
        guard let mount else { return nil }
        return try MountWatch(mount, gone: gone)
    }

    /// Detaches the mount whatever its users, and ends `run`. Open files end with the connection; files being written
    /// are incomplete.
    public func end() async {
        server.stopAfterNext()
        if await mount?.detach() == .covered {
            Log("mount").warning(
                "Another mount covers this one, which stays without its files: unmount the other, then run "
                    + "'chatfs unmount'.")
        }
        server.provokeRequest()
    }
}
