import Base
import ChatCore
import Glibc
import Posix

/// Tells users on their desktop what happens, through a process of its own (`NotificationProcess`), as `NotificationMachine`
/// decides. Nothing waits for it. On one thread, which sleeps while there is nothing to tell.
public final class Notifier: Sendable {
    private struct Inbox {
        var events: [NotificationEvent] = []
        var locations: [FileLocation] = []
        var isStopped = false
    }

    private let settings: NotifierSettings
    private let inbox = Lock(Inbox())
    private let hasEnded = Monitor(false)
    private let wakeUp: WakeUp
    private let totals: UnreadTotals?
    private let unreadNow = Lock<[ChatReference: Int]>([:])

    /// - Parameter told: as an earlier mount left it.
    /// - Throws: where there is no descriptor or thread for it.
    public init(_ settings: NotifierSettings, told: ToldNotifications) throws(SystemError) {
        self.settings = settings
        let wakeUp = try WakeUp()
        self.wakeUp = wakeUp
        totals = settings.runtimeFolder.flatMap { UnreadTotals(in: $0) { wakeUp.notify() } }
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
        if isFirst { wakeUp.notify() }
    }

    /// Has a program of the desktop show files. Never waits.
    public func reveal(_ location: FileLocation) {
        inbox.withLock { if !$0.isStopped { $0.locations.append(location) } }
        wakeUp.notify()
    }

    /// How much nobody has seen, by chats.
    public var unread: [ChatReference: Int] { unreadNow.withLock { $0 } }

    /// Nothing is told any more; what was not is told by the next mount. Blocks for a moment.
    public func stop() {
        inbox.withLock { $0 = Inbox(isStopped: true) }
        wakeUp.notify()
        hasEnded.wait { $0 ? true : nil }
    }

    // MARK: - On the thread

    private func run(_ told: ToldNotifications) {
        var driver = NotificationDriver(settings, told, totals)
        unreadNow.withLock { $0 = told.unread.byChat }
        while let new = inbox.withLock({ inbox -> Inbox? in
            defer { if !inbox.isStopped { inbox = Inbox() } }
            return inbox.isStopped ? nil : inbox
        }) {
            driver.process(new.events)
            for location in new.locations { driver.reveal(location) }
            let unread = driver.unread
            unreadNow.withLock { $0 = unread }
            driver.sleep(wakeUp)
        }
        driver.finish()
        totals?.remove()
        hasEnded.change { $0 = true }
    }
}
