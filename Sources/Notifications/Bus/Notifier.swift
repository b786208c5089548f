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
    }

    private struct State {
        var inbox = Inbox()
        var unread: [ChatReference: Int]
        var isStopped = false
    }

    private let settings: NotifierSettings
    private let state: Lock<State>
    private let hasEnded = Monitor(false)
    private let wakeUp: WakeUp
    private let totals: UnreadTotals?

    /// - Parameter told: The state that an earlier mount left.
    /// - Throws: An error if no descriptor or thread is available.
    public init(_ settings: NotifierSettings, told: NotificationRecord) throws(SystemError) {
        self.settings = settings
        let wakeUp = try WakeUp()
        self.wakeUp = wakeUp
        state = Lock(State(unread: told.unread.byChat))
        totals = settings.runtimeFolder.flatMap { UnreadTotals(in: $0) { wakeUp.notify() } }
        try Thread.begin("notifications") { self.run(told) }
    }

    /// Adds events. Never waits.
    public func tell(_ events: [NotificationEvent]) {
        guard !events.isEmpty else { return }
        let isFirst = state.withLock { state in
            guard !state.isStopped else { return false }
            defer { state.inbox.events += events }
            return state.inbox.events.isEmpty
        }
        // One wake-up serves many events.
        if isFirst { wakeUp.notify() }
    }

    /// Shows files in a desktop program. Never waits.
    public func reveal(_ location: FileLocation) {
        state.withLock { if !$0.isStopped { $0.inbox.locations.append(location) } }
        wakeUp.notify()
    }

    /// Number of unseen arrivals by chat.
    public var unread: [ChatReference: Int] { state.withLock { $0.unread } }

    /// Stops notifying; the next mount notifies of the rest. Blocks briefly.
    public func stop() {
        state.withLock { ($0.inbox, $0.isStopped) = (Inbox(), true) }
        wakeUp.notify()
        hasEnded.wait { $0 ? true : nil }
    }

    // MARK: - Thread

    private func run(_ told: NotificationRecord) {
        var driver = NotificationDriver(settings, told, totals)
        while let new = state.withLock({ state -> Inbox? in
            defer { state.inbox = Inbox() }
            return state.isStopped ? nil : state.inbox
        }) {
            driver.process(new.events)
            for location in new.locations { driver.reveal(location) }
            let unread = driver.unread
            state.withLock { $0.unread = unread }
            driver.sleep(wakeUp)
        }
        driver.finish()
        totals?.remove()
        hasEnded.change { $0 = true }
    }
}
