import Base
import ChatCore
import Glibc
import Posix

/// Shows desktop notifications through a process of its own (`NotificationProcess`), as decided by
/// `NotificationMachine`. Runs on one thread, which sleeps while idle. Callers never wait for it.
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

    /// - Parameter told: The state that an earlier mount left.
    /// - Throws: An error if no descriptor or thread is available.
    public init(_ settings: NotifierSettings, told: NotificationRecord) throws(SystemError) {
        self.settings = settings
        let wakeUp = try WakeUp()
        self.wakeUp = wakeUp
        totals = settings.runtimeFolder.flatMap { UnreadTotals(in: $0) { wakeUp.notify() } }
        try Thread.begin("notifications") { self.run(told) }
    }

    /// Adds events. Never waits.
    public func tell(_ events: [NotificationEvent]) {
        guard !events.isEmpty else { return }
        let isFirst = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            defer { inbox.events += events }
            return inbox.events.isEmpty
        }
        // One wake-up serves many events.
        if isFirst { wakeUp.notify() }
    }

    /// Shows files in a desktop program. Never waits.
    public func reveal(_ location: FileLocation) {
        inbox.withLock { if !$0.isStopped { $0.locations.append(location) } }
        wakeUp.notify()
    }

    /// Number of unseen arrivals by chat.
    public var unread: [ChatReference: Int] { unreadNow.withLock { $0 } }

    /// Stops notifying; the next mount notifies of the rest. Blocks briefly.
    public func stop() {
        inbox.withLock { $0 = Inbox(isStopped: true) }
        wakeUp.notify()
        hasEnded.wait { $0 ? true : nil }
    }

    // MARK: - Thread

    private func run(_ told: NotificationRecord) {
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
