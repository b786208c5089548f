import Base
import ChatCore
import Cryptography
import Desktop
import FileSystem
import MessageBus
import Metrics
import Namespace
import Posix

/// Serves a mount's clients beside the kernel: commands, programs, keep rules and desktop notifications.
struct MountServices: Sendable {
    private let parts: MountParts
    private let cacheRequests: CacheRequestHandler
    private let keeping: KeepWorker
    private let system: SystemWatch
    private let suspension: MountSuspension
    private let control: ControlServer
    /// nil without `--metrics`.
    private let metricsFile: MetricsFile?
    /// nil if the data is not encrypted or the socket could not be created.
    private let keys: KeyServer?
    /// Set by `begin`, because notification actions use the other parts.
    private let notifications = Lock<MountNotifications?>(nil)

    /// Starts listening.
    init(_ parts: MountParts) async throws {
        self.parts = parts
        let (opened, settings, fileSystem) = (parts.core, parts.settings, parts.fileSystem)
        let notified = notifications
        let metrics = MountMetrics(parts)
        metricsFile = try await Self.metricsFile(of: settings, metrics)
        let system = try SystemWatch()
        let suspension = MountSuspension(core: opened, system: system)
        let keeping = try await ThreadPool.shared.run {
            try KeepWorker(
                core: opened.core, hydrator: parts.hydrator, fileSystem: fileSystem, system: system,
                folder: opened.folder, key: opened.key, arrivals: opened.arrivals,
                whenExpiring: { entries in notified.withLock { $0 }?.expiring(entries) })
        }
        let cacheRequests = CacheRequestHandler(
            hydrator: parts.hydrator, fileSystem: fileSystem, core: opened.core, keeping: keeping)
        let core = opened.core
        let deletion = ItemDeletion(
            core: core,
            chats: { () async throws(ChatError) in
                NamedChats(try await core.chats(), folders: fileSystem.lister.folderNames)
            }, entry: { try await fileSystem.item(at: NodeID($0)) },
            deleteTogether: { try await fileSystem.delete($0, mode: $1) })
        let markKey = UnansweredRequests.key(from: opened.key)
        await ThreadPool.shared.run {
            do throws(DesktopError) {
                try UnansweredRequests(profileFolder: opened.folder, key: markKey).tidy()
            } catch {
                Log("mount").warning("old requests not removed: error=\(error.sentence)")
            }
        }
        fileSystem.completeStatus { status in
            await opened.completeStatus(&status) { fileSystem.lister.folder(of: $0)?.name.description }
        }
        let folder = opened.folder
        fileSystem.completeStatus { status in
            status.verified = await ThreadPool.shared.run {
                MountStatus.Verification(ofProfileFolder: folder)
            }
        }
        let (cacheDisk, hydration) = (parts.cache.directory, settings.hydration)
        fileSystem.completeStatus { status in
            status.room = await ThreadPool.shared.run {
                MountStatus.Room(data: folder, cache: cacheDisk, hydration)
            }
        }
        self.keeping = keeping
        self.system = system
        self.suspension = suspension
        self.cacheRequests = cacheRequests
        keys = await Self.keyServer(opened.key, in: settings.directory.path)
        do throws(DesktopError) {
            control = try ControlServer(
                profileFolder: opened.folder, core: core, mountpoint: settings.mountpoint,
                removesMetadata: settings.preparation.removesMetadata, markKey: markKey,
                service: MountService(
                    fileSystem: fileSystem, cacheRequests: cacheRequests,
                    copies: CopyFreeing(fileSystem: fileSystem, hydrator: parts.hydrator, core: opened),
                    deletion: deletion,
                    chats: ChatActions(core: core, keeping: keeping, folder: opened.folder),
                    core: opened, suspension: suspension, preparation: settings.preparation,
                    mountpoint: settings.mountpoint, metrics: metrics,
                    notifications: { notified.withLock { $0 } }
                ),
                at: parts.programSocket)
        } catch {
            keys?.stop()
            throw error
        }
    }

    /// Writes the file once, so that a wrong path ends the mount.
    private static func metricsFile(
        of settings: MountSettings, _ metrics: MountMetrics
    ) async throws(PathError) -> MetricsFile? {
        guard let path = settings.metricsPath else { return nil }
        let file = MetricsFile(path) { await metrics.families() }
        do throws(SystemError) {
            try await file.write()
        } catch {
            throw PathError(path, error)
        }
        return file
    }

    /// Serves the key to commands, so that they need no prompt during the mount.
    private static func keyServer(_ key: SecretBytes?, in folder: String) async -> KeyServer? {
        guard let key else { return nil }
        return await ThreadPool.shared.run {
            do throws(DesktopError) {
                return try KeyServer(dataFolder: folder, key: key, holding: KeyHolding(.mount))
            } catch {
                Log("mount").notice("key not served, commands will prompt: error=\(error.sentence)")
                return nil
            }
        }
    }

    /// Starts notifications, resumes earlier requests and applies keep rules. Called after the mount.
    func begin() {
        let told = MountNotifications(
            parts.settings, core: parts.core, outbox: parts.outbox, hydrator: parts.hydrator,
            fileSystem: parts.fileSystem, cacheRequests: cacheRequests)
        notifications.withLock { $0 = told }
        Task { [cacheRequests] in await cacheRequests.resume() }
        keeping.begin()
        metricsFile?.begin()
        applyConfiguredRules()
        suspension.begin(on: parts.fileSystem)
    }

    private func applyConfiguredRules() {
        let rules = parts.settings.chats
        guard !rules.isEmpty else { return }
        let configured = ConfiguredChats(rules, keeping: keeping)
        let (core, fileSystem, folder) = (parts.core.core, parts.fileSystem, parts.core.folder)
        Task {
            await configured.apply(
                to: { () async throws(ChatError) in
                    NamedChats(try await core.chats(), folders: fileSystem.lister.folderNames)
                }, profileFolder: folder)
        }
    }

    /// Closes the sockets for commands, programs and the key.
    func stopListening() {
        control.stop()
        keys?.stop()
    }

    /// Ends the services. Called after `stopListening`, while the core can still cancel transfers.
    func end() async {
        await suspension.stop()
        await notifications.withLock { $0 }?.stop()
        await control.cancelTransfers()
        await keeping.stop()
        await metricsFile?.stop()
        system.stop()
    }
}
