import Base
import ChatCore
import CommandLineKit
import Desktop
import FileSystem
import Fuse
import Glibc
import Hydration
import Media
import Namespace
import Outbox
import Posix

/// A profile that is mounted: every part of it, put together here and taken apart in the order in
/// which they need each other.
///
///     kernel → Fuse → FileSystem → Namespace   names
///                                → Hydrator    reading     → ChatCore, relays
///                                → Outbox      writing     → ChatCore
final class MountedProfile: Sendable {
    let mountpoint: String
    var profileName: String { core.core.profile.displayName }
    /// Where a mount without a terminal writes its log, if not to the journal.
    var logPath: String { core.folder + "/log" }

    private let core: MountedCore
    private let hydrator: Hydrator
    private let outbox: Outbox
    private let fileSystem: FileSystem
    private let pump: EventPump
    private let keeping: KeepWorker
    private let session: FuseSession
    private let control: ControlServer
    private let programs: ProgramServer
    private let cache: PrivateFolder
    private let traces: DesktopTraces?
    private let notifications: MountNotifications?
    /// Requested when the connection to the kernel has ended, through whomever.
    private let ended = StopRequest()
    /// Requested when the mount has left the mount table. The connection may outlive it: through open files, and
    /// through copies of the mount in other mount namespaces.
    private let left = StopRequest()

    private init(
        core: MountedCore, hydrator: Hydrator, outbox: Outbox, fileSystem: FileSystem, pump: EventPump,
        keeping: KeepWorker, session: FuseSession, control: ControlServer, programs: ProgramServer,
        cache: PrivateFolder,
        traces: DesktopTraces?, notifications: MountNotifications?
    ) {
        self.core = core
        self.hydrator = hydrator
        self.outbox = outbox
        self.fileSystem = fileSystem
        self.pump = pump
        self.keeping = keeping
        self.session = session
        self.control = control
        self.programs = programs
        self.cache = cache
        self.traces = traces
        self.notifications = notifications
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
                "--cache plain: what is read lies decrypted on the disk until the mount ends, and nothing would "
                    + "notice a change of it there; see docs/security.md")
        }
        let mountpoint = try await Mountpoint.prepare(settings.mountpoint)
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
        let (core, own) = (opened.core, opened.folder)
        let preparation = settings.preparation
        let (names, outbox, cache) = try await ThreadPool.shared.run {
            (
                try Namespace(path: own + "/names.sqlite"),
                try Outbox(
                    core: core, folder: try PrivateFolder(own + "/outbox", purpose: "chatfs outbox"),
                    quietTime: settings.quietTime,
                    completion: { message throws(ChatError) in try await preparation.completed(message) }),
                try PrivateFolder(
                    settings.cacheFolder(profile: core.profile.id), purpose: "chatfs cache")
            )
        }
        let remembered = try await ThreadPool.shared.run { () throws(any Error) in
            try RetentionList(in: OpenFile(own, flags: O_RDONLY))
        }
        let hydrator = try Hydrator(
            core: core, client: opened.client, cacheFolder: cache, settings: settings.hydration,
            retention: remembered)
        let traces = await ThreadPool.shared.run {
            DesktopTraces.open(names, mountpoint: settings.mountpoint)
        }
        traces?.beginSweeping()
        var files = FileSystem.Settings(
            deletion: settings.deletion, cacheDisk: cache.directory, mountpoint: settings.mountpoint,
            controlFolder: own)
        files.callers = settings.callers
        files.desktop = traces?.desktop
        if settings.previews.offersThoseOfMessages { files.thumbnailMaker = ThumbnailMaker() }
        let programSocket = try ProgramSocket(
            runtimeFolder: getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }, profileFolder: own)
        files.programSocket = programSocket.path
        let fileSystem = FileSystem(
            names: names, contents: hydrator, outbox: outbox, core: core, settings: files)
        do {
            let pump = try await fileSystem.begin()
            // Set before anything is kept: what is told acts through what keeps.
            let notified = Lock<MountNotifications?>(nil)
            let keeping = try await ThreadPool.shared.run {
                try KeepWorker(
                    core: core, hydrator: hydrator, fileSystem: fileSystem, folder: own,
                    whenExpiring: { entries in notified.withLock { $0 }?.expiring(entries) })
            }
            let cacheRequests = CacheRequestHandler(
                hydrator: hydrator, fileSystem: fileSystem, core: core, keeping: keeping)
            let control = try ControlServer(
                profileFolder: own, core: core, mountpoint: settings.mountpoint,
                removesMetadata: preparation.removesMetadata,
                whenSent: { await fileSystem.wasSent($0) },
                answerCacheRequest: { await cacheRequests.answer($0) },
                answerKeepRequest: { await keeping.answer($0) })
            let programs: ProgramServer
            do throws(DesktopError) {
                programs = try ProgramServer(
                    MountService(
                        fileSystem: fileSystem, cacheRequests: cacheRequests, core: opened,
                        preparation: preparation,
                        mountpoint: settings.mountpoint), at: programSocket)
            } catch {
                control.stop()
                throw error
            }
            let session: FuseSession
            do throws(FuseError) {
                session = try FuseSession(
                    fileSystem, at: mountpoint,
                    plainFilesIn: settings.hydration.cacheMode == .plain ? cache.directory : nil)
            } catch {
                programs.stop()
                control.stop()
                throw error
            }
            // Mounted first, sent afterwards: a long queue keeps nobody waiting.
            let notifications = MountNotifications(
                settings, core: opened, outbox: outbox, hydrator: hydrator, fileSystem: fileSystem,
                cacheRequests: cacheRequests)
            notified.withLock { $0 = notifications }
            outbox.start()
            Task { await cacheRequests.resume() }
            keeping.begin()
            let mounted = MountedProfile(
                core: opened, hydrator: hydrator, outbox: outbox, fileSystem: fileSystem, pump: pump,
                keeping: keeping, session: session, control: control, programs: programs, cache: cache,
                traces: traces, notifications: notifications)
            Thread.start("fuse") { mounted.run() }
            return mounted
        } catch {
            await outbox.shutDown()
            await hydrator.shutDown()
            await ThreadPool.shared.run {
                // Empty, and swept by the next mount.
                try? cache.remove()
                fileSystem.close()
            }
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
        await notifications?.stop()
        core.announceEnd()
        control.stop()
        programs.stop()
        await control.cancelTransfers()
        await keeping.stop()
        // Readers that wait get their answer now, or they would keep the mount busy.
        await hydrator.shutDown()
        if await unmount() { fileSystem.releaseAll() }
        watch?.stop()
        await outbox.shutDown()
        if let words = WaitingFiles.words(outbox.waiting) { Log("mount").notice(words) }
        await pump.finish()
        await traces?.sweep()
        // While the profile is still ours: the next mount uses the same folder.
        let (cache, fileSystem) = (cache, fileSystem)
        await ThreadPool.shared.run {
            do {
                try cache.remove()
            } catch {
                Log("mount").warning(
                    "the cache is left for the next mount to sweep: \(sentenceWithCauses(of: error))")
            }
            fileSystem.close()
        }
        await core.shutDown()
    }

    /// True when nothing on the mount was open at its end: the kernel takes no mount away that is in use, unless
    /// it is told to (`umount -f`, `umount -l`, `abort` of its connection).
    private func unmount() async -> Bool {
        // Who is writing may finish, for a while; who only reads or sits in a folder may not.
        let writerDeadline = ContinuousClock.now + .seconds(5)
        let deadline = ContinuousClock.now + .milliseconds(500)
        while !ended.isRequested, ContinuousClock.now < (fileSystem.hasWriters ? writerDeadline : deadline) {
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
