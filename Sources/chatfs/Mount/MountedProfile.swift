import Base
import CommandLineKit
import FileSystem
import Fuse
import Glibc
import Posix

/// A mounted profile with all its parts. Builds them and takes them down in the order of their dependencies.
///
///     kernel → Fuse → FileSystem → Namespace   names
///                                → Hydrator    reading     → ChatCore, relays
///                                → Outbox      writing     → ChatCore
final class MountedProfile: Sendable {
    let mountpoint: String
    var profileName: String { parts.core.core.profile.displayName }
    /// Log file of a mount without a terminal or journal.
    var logPath: String { parts.core.folder + "/log" }

    private let parts: MountParts
    private let services: MountServices
    private let pump: EventPump
    private let session: FuseSession
    private let log: MountLog?
    /// Requested when the connection to the kernel has ended.
    private let ended = StopRequest()
    /// Requested when the mount has left the mount table. Open files and copies in other mount namespaces may keep the
    /// connection alive longer.
    private let left = StopRequest()

    private init(
        _ parts: MountParts, services: MountServices, pump: EventPump, session: FuseSession, log: MountLog?
    ) {
        self.log = log
        self.parts = parts
        self.services = services
        self.pump = pump
        self.session = session
        mountpoint = session.mountpoint
    }

    /// Opens the profile and mounts it. Undoes everything on failure.
    static func mount(_ settings: MountSettings) async throws -> MountedProfile {
        let core = try await MountedCore.open(settings.core)
        do {
            return try await mount(core, settings)
        } catch {
            await core.shutDown()
            throw error
        }
    }

    private static func mount(
        _ opened: MountedCore, _ settings: MountSettings
    ) async throws -> MountedProfile {
        if settings.hydration.cacheMode == .plain {
            Log("mount").warning(
                "--cache plain: decrypted files stay on the disk until the mount ends, and ChatFS does "
                    + "not detect changes there; see docs/security/threat-model.md")
        }
        let mountpoint: Mountpoint
        do throws(FuseError) {
            mountpoint = try await Mountpoint.prepare(settings.mountpoint)
        } catch {
            throw PathError(settings.mountpoint, error)
        }
        do {
            return try await mount(opened, settings, at: mountpoint)
        } catch {
            await ThreadPool.shared.run { mountpoint.abandon() }
            throw error
        }
    }

    private static func mount(
        _ opened: MountedCore, _ settings: MountSettings, at mountpoint: Mountpoint
    ) async throws -> MountedProfile {
        let parts = try await MountParts(opened, settings)
        do {
            let log = MountLog(parts)
            let pump = try await parts.fileSystem.begin()
            let services = try await MountServices(parts)
            let session: FuseSession
            do throws(FuseError) {
                session = try FuseSession(
                    parts.fileSystem, at: mountpoint, metrics: parts.requests,
                    plainFilesIn: parts.plainFiles,
                    isListed: !SidebarEntry.isMade)
            } catch {
                services.stopListening()
                throw error
            }
            // After the mount, so that a long queue does not delay it.
            log?.begin(at: session.mountpoint)
            parts.outbox.start()
            services.begin()
            let mounted = MountedProfile(
                parts, services: services, pump: pump, session: session, log: log)
            Thread.start("fuse") { mounted.run() }
            return mounted
        } catch {
            await parts.abandon()
            throw error
        }
    }

    private func run() {
        session.run()
        ended.request()
    }

    /// Returns the present state of the mount.
    func status() async -> MountStatus { await parts.fileSystem.status() }

    /// Serves until an unmount or a stop request, then shuts down: queues closed drafts, stops downloads, removes the
    /// cache and releases the profile.
    ///
    /// - Parameter whenLeaving: Called once, before the shutdown.
    func serve(until stop: StopRequest, whenLeaving: () -> Void = {}) async {
        let watch = await ThreadPool.shared.run { [session, left] in watchMount(of: session, left: left) }
        await Self.first(of: stop, left, ended)
        whenLeaving()
        session.stopTellingWatchers()
        parts.core.announceEnd()
        services.stopListening()
        await services.end()
        // Ends waiting reads, which would keep the mount busy.
        await parts.hydrator.shutDown()
        let wasAsked = stop.isRequested
        let isIdle = await unmount()
        if isIdle { parts.fileSystem.releaseAll() }
        await parts.fileSystem.finishFolders(isIdle: isIdle && wasAsked)
        watch?.stop()
        await parts.outbox.shutDown()
        if let words = WaitingFiles.words(parts.outbox.waiting) { Log("mount").notice(words) }
        await pump.finish()
        await parts.traces?.sweep()
        // Before the profile is released, because the next mount uses the same directories.
        await ThreadPool.shared.run { [parts] in parts.close() }
        await parts.core.shutDown()
        log?.end()
    }

    /// Unmounts. Returns true if no file was open at the end; the kernel does not unmount a busy mount unless forced
    /// (`umount -f`, `umount -l`, an abort of its connection).
    private func unmount() async -> Bool {
        // Writers get more time than readers and working directories.
        let writerDeadline = ContinuousClock.now + .seconds(5)
        let deadline = ContinuousClock.now + .milliseconds(500)
        while !ended.isRequested,
            ContinuousClock.now < (parts.fileSystem.hasWriters ? writerDeadline : deadline)
        {
            let ending = await session.unmountIfIdle()
            if ending == .covered { break }
            // If gone, the connection ends soon, or with its last holder.
            try? await Task.sleep(for: ending == .gone ? .milliseconds(5) : .milliseconds(50))
        }
        if ended.isRequested { return await session.isGone() }
        await session.end()
        return false
    }

    private static func first(of requests: StopRequest...) async {
        let first = OneTimeEvent()
        for request in requests {
            Task {
                await request.wait()
                first.happen()
            }
        }
        await first.wait()
    }
}

/// Returns nil, with a log line, if the mount table cannot be watched. Then only the end of the connection is
/// detected.
private func watchMount(of session: FuseSession, left: StopRequest) -> MountWatch? {
    do throws(SystemError) {
        return try session.watch { left.request() }
    } catch {
        Log("mount").warning("mount table not watched, unmounts may be noticed late: error=\(error.sentence)")
        return nil
    }
}
