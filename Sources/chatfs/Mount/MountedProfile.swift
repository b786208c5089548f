import Base
import CommandLineKit
import FileSystem
import Fuse
import Glibc
import Posix

/// A profile that is mounted: every part of it, put together here and taken apart in the order in
/// which they need each other.
///
///     kernel → Fuse → FileSystem → Namespace   names
///                                → Hydrator    reading     → ChatCore, relays
///                                → Outbox      writing     → ChatCore
final class MountedProfile: Sendable {
    let mountpoint: String
    var profileName: String { parts.core.core.profile.displayName }
    /// Where a mount without a terminal writes its log, if not to the journal.
    var logPath: String { parts.core.folder + "/log" }

    private let parts: MountParts
    private let services: MountServices
    private let pump: EventPump
    private let session: FuseSession
    /// Requested when the connection to the kernel has ended, through whomever.
    private let ended = StopRequest()
    /// Requested when the mount has left the mount table. The connection may outlive it: through open files, and
    /// through copies of the mount in other mount namespaces.
    private let left = StopRequest()

    private init(_ parts: MountParts, services: MountServices, pump: EventPump, session: FuseSession) {
        self.parts = parts
        self.services = services
        self.pump = pump
        self.session = session
        mountpoint = session.mountpoint
    }

    /// Opens the profile and mounts it. When this fails, everything is as before.
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
                "--cache plain: files that are read lie decrypted on the disk until the mount ends, and ChatFS does "
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
            let pump = try await parts.fileSystem.begin()
            let services = try await MountServices(parts)
            let session: FuseSession
            do throws(FuseError) {
                session = try FuseSession(
                    parts.fileSystem, at: mountpoint, plainFilesIn: parts.plainFiles,
                    isListed: !SidebarEntry.isMade)
            } catch {
                services.stopListening()
                throw error
            }
            // Mounted first, sent afterwards: a long queue keeps nobody waiting.
            parts.outbox.start()
            services.begin()
            let mounted = MountedProfile(parts, services: services, pump: pump, session: session)
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

    /// Serves until somebody unmounts or asks to stop, then leaves: closed drafts are queued, downloads
    /// stopped, the cache removed, the profile let go.
    func serve(until stop: StopRequest) async {
        let watch = await ThreadPool.shared.run { [session, left] in watchMount(of: session, left: left) }
        await Self.first(of: stop, left, ended)
        session.stopTellingWatchers()
        parts.core.announceEnd()
        services.stopListening()
        await services.end()
        // Readers that wait get their answer now, or they would keep the mount busy.
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
        // While the profile is still ours: the next mount uses the same folder.
        await ThreadPool.shared.run { [parts] in parts.close() }
        await parts.core.shutDown()
    }

    /// True when nothing on the mount was open at its end: the kernel takes no mount away that is in use, unless
    /// it is told to (`umount -f`, `umount -l`, `abort` of its connection).
    private func unmount() async -> Bool {
        // Who is writing may finish, for a while; who only reads or sits in a folder may not.
        let writerDeadline = ContinuousClock.now + .seconds(5)
        let deadline = ContinuousClock.now + .milliseconds(500)
        while !ended.isRequested,
            ContinuousClock.now < (parts.fileSystem.hasWriters ? writerDeadline : deadline)
        {
            let ending = await session.unmountIfIdle()
            if ending == .covered { break }
            // Gone: the end of the connection is a matter of a moment, or of who holds it.
            try? await Task.sleep(for: ending == .gone ? .milliseconds(5) : .milliseconds(50))
        }
        if ended.isRequested { return await session.isGone() }
        await session.end()
        return false
    }

    private static func first(of requests: StopRequest...) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let once = Lock<CheckedContinuation<Void, Never>?>(continuation)
            for request in requests {
                Task {
                    await request.wait()
                    once.withLock { waiting in
                        defer { waiting = nil }
                        return waiting
                    }?.resume()
                }
            }
        }
    }
}

/// nil, and a word in the log, where the mount table cannot be watched: then only the end of the connection tells.
private func watchMount(of session: FuseSession, left: StopRequest) -> MountWatch? {
    do throws(SystemError) {
        return try session.watch { left.request() }
    } catch {
        Log("mount").warning("An unmount may be noticed late: \(error.sentence)")
        return nil
    }
}
