import Base
import ChatCore
import Glibc
import MessageBus
import Posix

/// Does what the machine decides. One thread.
struct NotificationDriver {
    private let settings: NotifierSettings
    private let totals: UnreadTotals?
    private var machine: NotificationMachine
    private var bus: BusChild?
    private var othersUnread = 0
    private var hasComplained = false
    private let log = Log("notifications")

    init(_ settings: NotifierSettings, _ told: ToldNotifications, _ totals: UnreadTotals?) {
        self.settings = settings
        self.totals = totals
        machine = NotificationMachine(
            mode: settings.mode, preview: settings.preview, told: told, at: .now)
    }

    /// Takes in what happened, and does what is due.
    mutating func process(_ events: [NotificationEvent]) {
        let now = ContinuousClock.now
        for event in events { machine.add(event, at: now) }
        let others = totals?.others() ?? 0
        if others != othersUnread {
            othersUnread = others
            machine.add(.unreadElsewhere(others), at: now)
        }
        hearBus()
        let due = machine.chatsDue(at: .now)
        let silent = due.isEmpty ? SilentChats() : settings.silent(due)
        perform(machine.step(at: .now, muted: silent.muted, inFront: silent.inFront))
        totals?.set(machine.told.unread.count)
    }

    /// Until something happens or is due.
    func sleep(_ wakeUp: WakeUp) {
        var requests = [wakeUp.descriptor, bus?.output.descriptor].compactMap { $0 }.map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let milliseconds = machine.wake.map { wake in
            Int32(clamping: Int((ContinuousClock.now.duration(to: wake) / .milliseconds(1)).rounded(.up)))
        }
        poll(&requests, milliseconds: max(-1, milliseconds.map { max(0, $0) } ?? -1))
        wakeUp.clear()
    }

    mutating func finish() {
        perform(machine.finish(at: .now))
        bus = nil
    }

    // MARK: - The bus

    private mutating func hearBus() {
        while let child = bus {
            let answer: NotificationAnswer
            switch child.receive() {
            case .nothing: return
            case .frame(let bytes): answer = NotificationAnswer(encoded: bytes) ?? .ended
            case .ended: answer = .ended
            }
            if answer == .ended { bus = nil }
            perform(machine.hear(answer, at: .now))
        }
    }

    private mutating func perform(_ effects: [NotificationEffect]) {
        for effect in effects {
            switch effect {
            case .start: start()
            case .stop:
                bus = nil
            case .record(let told): record(told)
            case .show(let token, let text):
                if bus?.send(BusRequest.show(token: token, text).encoded) != true {
                    perform(machine.hear(.failed(token: token), at: .now))
                }
            case .close(let token): _ = bus?.send(BusRequest.close(token: token).encoded)
            case .count(let count): _ = bus?.send(BusRequest.count(UInt64(max(0, count))).encoded)
            case .perform(let action): settings.perform(action)
            }
        }
    }

    private mutating func start() {
        guard let address = BusAddress.session(runtimeFolder: settings.runtimeFolder) else {
            return perform(machine.hear(.ended, at: .now))
        }
        do {
            bus = try BusChild(
                NotificationProcess.word, environment: ["DBUS_SESSION_BUS_ADDRESS": address])
        } catch {
            complain(error.sentence)
            perform(machine.hear(.ended, at: .now))
        }
    }

    private mutating func record(_ told: ToldNotifications) {
        do throws(SystemError) {
            try ToldFile.write(told, in: settings.folder)
        } catch {
            complain(error.sentence)
        }
    }

    /// Once: it is no more important than what it keeps from being told.
    private mutating func complain(_ sentence: String) {
        guard !hasComplained else { return }
        hasComplained = true
        log.warning("Notifications may be missing, or come again: \(sentence)")
    }
}
