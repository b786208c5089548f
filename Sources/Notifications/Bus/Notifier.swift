import Base
import ChatCore
import Glibc
import Posix

/// Tells users on their desktop what happens, through a process of its own (`NotificationProcess`), as `NotificationMachine`
/// decides. Nothing waits for it. On one thread, which sleeps while there is nothing to tell.
public final class Notifier: Sendable {
    /// What it needs of a mount.
    public struct Settings: Sendable {
        public var mode: NotificationMode
        public var preview: NotificationPreview
        /// Of the profile, where is kept what was told.
        public var folder: OpenFile
        /// `$XDG_RUNTIME_DIR`, where mounts of one user add up what nobody has opened.
        public var runtimeFolder: String?
        /// Of these chats those that are muted, and those that somebody looks at. Blocks.
        public var silent: @Sendable (Set<ChatReference>) -> SilentChats
        /// Does what a button says. Must not wait.
        public var perform: @Sendable (NotificationAction) -> Void

        public init(
            mode: NotificationMode, preview: NotificationPreview, folder: OpenFile, runtimeFolder: String?,
            silent: @escaping @Sendable (Set<ChatReference>) -> SilentChats,
            perform: @escaping @Sendable (NotificationAction) -> Void
        ) {
            self.mode = mode
            self.preview = preview
            self.folder = folder
            self.runtimeFolder = runtimeFolder
            self.silent = silent
            self.perform = perform
        }
    }

    private struct Inbox {
        var events: [NotificationEvent] = []
        var isStopped = false
    }

    private let settings: Settings
    private let inbox = Lock(Inbox())
    private let hasEnded = Monitor(false)
    private let wakeUp: WakeUp
    private let totals: UnreadTotals?

    /// Throws where there is no thread for it.
    /// - Parameter told: as an earlier mount left it.
    public init(_ settings: Settings, told: ToldNotifications) throws(SystemError) {
        self.settings = settings
        let wakeUp = try WakeUp()
        self.wakeUp = wakeUp
        totals = settings.runtimeFolder.flatMap { UnreadTotals(in: $0) { wakeUp.ring() } }
        try Thread.begin("notifications") { self.run(told) }
    }

    /// Never waits.
    public func tell(_ events: [NotificationEvent]) {
        guard !events.isEmpty else { return }
        let isFirst = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            defer { inbox.events += events }
            return inbox.events.isEmpty
        }
        // Who opens thousands of files does not wake it for each.
        if isFirst { wakeUp.ring() }
    }

    /// Nothing is told any more; what was not is told by the next mount. Blocks for a moment.
    public func stop() {
        inbox.withLock { $0 = Inbox(isStopped: true) }
        wakeUp.ring()
        hasEnded.wait { $0 ? true : nil }
    }

    // MARK: - On the thread

    private func run(_ told: ToldNotifications) {
        var driver = NotificationDriver(settings, told, totals)
        while let events = inbox.withLock({ inbox -> [NotificationEvent]? in
            defer { inbox.events = [] }
            return inbox.isStopped ? nil : inbox.events
        }) {
            driver.process(events)
            driver.sleep(wakeUp)
        }
        driver.finish()
        totals?.remove()
        hasEnded.change { $0 = true }
    }
}

/// Chats of which less is told.
public struct SilentChats: Hashable, Sendable {
    public var muted: Set<ChatReference>
    /// Somebody looks at their folders.
    public var inFront: Set<ChatReference>

    public init(muted: Set<ChatReference> = [], inFront: Set<ChatReference> = []) {
        self.muted = muted
        self.inFront = inFront
    }
}
