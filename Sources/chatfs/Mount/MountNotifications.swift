import Base
import ChatCore
import Desktop
import FileSystem
import Glibc
import Hydration
import Namespace
import Notifications
import Outbox
import Posix

/// Shows desktop notifications for a mount: follows its core, outbox, contents and refusals, and performs the buttons'
/// actions. Its failures never affect the mount.
final class MountNotifications: Sendable {
    private struct State {
        var tasks: [Task<Void, Never>] = []
        var notifier: Notifier?
        /// Events before the notifier existed.
        var early: [NotificationEvent] = []
        var isStopped = false
    }

    private let source: NotificationSource
    private let fileSystem: FileSystem
    private let settings: MountSettings
    private let folder: String
    private let actions: NotificationActions
    private let pictures: NotificationPictures?
    private let state = Lock(State())
    private let log = Log("notifications")

    private static let maxEarly = 4096

    /// Returns nil with `--notifications off`.
    init?(
        _ settings: MountSettings, core: MountedCore, outbox: Outbox, hydrator: Hydrator,
        fileSystem: FileSystem, cacheRequests: CacheRequestHandler
    ) {
        let folder = core.folder
        guard settings.notifications != .off else {
            // Arrivals until notifications are turned on again become history.
            ThreadPool.shared.submit {
                if let own = try? OpenFile(folder, flags: O_RDONLY) { NotificationRecordFile.remove(in: own) }
            }
            return nil
        }
        self.settings = settings
        self.fileSystem = fileSystem
        self.folder = folder
        pictures =
            settings.previews.offersThoseOfMessages ? NotificationPictures(core: core.core) : nil
        source = NotificationSource(
            core: core.core, contents: hydrator, lister: fileSystem.lister,
            phone: settings.coreChoice.official?.isPhone == true ? AwaitedPhone(of: core.core.profile) : nil)
        actions = NotificationActions(
            core: core, fileSystem: fileSystem, cacheRequests: cacheRequests,
            mountpoint: settings.mountpoint,
            permissions: RememberedPermissions(mount: settings.configuredName))
        // Subscribed before the current state is read, so that no event is lost.
        let (drafts, contents) = (outbox.draftChanges(), hydrator.changes())
        let following = source.follow(fileSystem) { self.tell($0) }
        let tasks = [
            Task { for await change in drafts { self.tell(source.events(of: change)) } },
            Task { for await change in contents { self.tell(await source.events(of: change)) } },
            Task { await self.begin() },
        ]
        state.withLock { $0.tasks = following + tasks }
    }

    /// Notifies of expiring entries with `user.chatfs.expires`.
    func expiring(_ entries: [EntryDescription]) { tell(entries.compactMap(source.expiry)) }

    /// Number of unseen arrivals by chat.
    var unread: [ChatReference: Int] { state.withLock { $0.notifier }?.unread ?? [:] }

    /// Marks a chat as read.
    func markRead(_ chat: ChatReference) { tell([.seen(chat)]) }

    /// Stops notifying.
    func stop() async {
        fileSystem.tellUser(through: nil)
        let ended = state.withLock { state in
            defer { state = State(isStopped: true) }
            return state
        }
        for task in ended.tasks { task.cancel() }
        if let notifier = ended.notifier { await ThreadPool.shared.run { notifier.stop() } }
    }

    private func tell(_ events: [NotificationEvent]) {
        let notifier = state.withLock { state -> Notifier? in
            if state.notifier == nil, !state.isStopped, state.early.count < Self.maxEarly {
                state.early += events
            }
            return state.notifier
        }
        notifier?.tell(events)
    }

    // MARK: - Start

    private func begin() async {
        do {
            let own = try await ThreadPool.shared.run { [folder] () throws(SystemError) in
                try OpenFile(folder, flags: O_RDONLY)
            }
            let before = await ThreadPool.shared.run { NotificationRecordFile.read(in: own) }
            var told: NotificationRecord
            var missed: [NotificationEvent] = []
            if let before {
                told = before
                missed = await source.arrivals(since: before)
            } else {
                told = NotificationRecord(
                    beginning: SystemWallClock().now(), history: await source.latestItem())
            }
            if told.contacts == nil {
                let present = await source.present()
                told.begin(logEnds: present.logEnds, contacts: present.contacts)
            }
            if told.beginProcess(in: SystemBootClock().reading().boot) { missed.append(.stopped) }
            let begun = told
            try await ThreadPool.shared.run { () throws(SystemError) in
                try NotificationRecordFile.write(begun, in: own)
            }
            source.texts.follow(from: told.logEnds)
            missed += await source.removedChats(since: told)
            missed += await source.removedFiles(since: told)
            missed += await source.expiredTexts(since: told)
            missed += await source.missedTexts()
            missed += await source.connections()
            missed += await source.requests()
            missed += await source.changedKeys()
            let notifier = try Notifier(notifierSettings(own), told: told)
            let early = state.withLock { state -> [NotificationEvent]? in
                guard !state.isStopped else { return nil }
                state.notifier = notifier
                defer { state.early = [] }
                return state.early
            }
            guard let early else { return await ThreadPool.shared.run { notifier.stop() } }
            notifier.tell(missed + early)
        } catch {
            log.warning("desktop notifications off: error=\(Base.sentence(of: error))")
            state.withLock { $0.isStopped = true }
        }
    }

    /// Returns the muted chats. If they cannot be read, logs it and notifies of all.
    private static func all(_ muted: MutedChats) -> Set<ChatReference> {
        do {
            return try muted.all()
        } catch {
            Log("notifications").warning("muted chats unreadable, notifying for all: error=\(error.sentence)")
            return []
        }
    }

    private func notifierSettings(_ own: OpenFile) -> NotifierSettings {
        let (lister, mountpoint, muted) = (fileSystem.lister, settings.mountpoint, MutedChats(in: own))
        var actions = actions
        actions.reveal = { [weak self] location in self?.state.withLock { $0.notifier }?.reveal(location) }
        return NotifierSettings(
            mode: settings.notifications, preview: settings.notificationPreviews,
            silenced: settings.silencedNotifications, folder: own,
            runtimeFolder: getenv("XDG_RUNTIME_DIR").map { String(cString: $0) },
            silent: { chats in
                let folders = chats.reduce(into: [UInt64: ChatReference]()) { folders, chat in
                    if let folder = lister.folder(of: chat) { folders[folder.id.rawValue] = chat }
                }
                // If the table cannot be read, no folder counts as displayed.
                let device = (try? MountTable.mount(at: mountpoint))?.device
                let shown = device.map { DisplayedFolders.shown(Set(folders.keys), on: $0) } ?? []
                return SilentChats(
                    muted: Self.all(muted), inFront: Set(shown.compactMap { folders[$0] }))
            },
            picture: { [pictures] file in pictures?.picture(of: file) },
            perform: { [actions, weak self] action in
                Task {
                    guard let problem = await actions.perform(action) else { return }
                    self?.tell([.refused(RefusedRequest(problem))])
                }
            })
    }
}
