import Base
import ChatCore
import Glibc
import MessageBus
import Posix

/// Performs the effects of the machine. One thread.
struct NotificationDriver {
    private let settings: NotifierSettings
    private let totals: UnreadTotals?
    private var machine: NotificationMachine
    private var bus: BusChild?
    private var othersUnread = 0
    private var hasComplained = false
    private let log = Log("notifications")

    init(_ settings: NotifierSettings, _ told: NotificationRecord, _ totals: UnreadTotals?) {
        self.settings = settings
        self.totals = totals
        machine = NotificationMachine(
            mode: settings.mode, preview: settings.preview, silenced: settings.silenced, told: told, at: .now)
    }

    /// Passes events to the machine and performs the due effects.
    mutating func process(_ events: [NotificationEvent]) {
        let now = ContinuousClock.now
        for event in events { machine.add(event, at: now) }
        let others = totals?.others() ?? 0
        if others != othersUnread {
            othersUnread = others
            machine.add(.unreadElsewhere(others), at: now)
        }
        hearBus()
        // The same time for both: a chat that is due later was not looked at.
        let time = ContinuousClock.now
        let due = machine.chatsDue(at: time)
        let silent = due.isEmpty ? SilentChats() : settings.silent(due)
        perform(machine.step(at: time, muted: silent.muted, inFront: silent.inFront))
        totals?.set(machine.told.unread.count)
    }

    /// Number of unseen arrivals by chat.
    var unread: [ChatReference: Int] { machine.unread }

    /// Shows files in a desktop program.
    mutating func reveal(_ location: FileLocation) {
        guard let frame = location.request, bus?.send(frame) == true else {
            return perform(machine.hear(.notShown, at: .now))
        }
    }

    /// Sleeps until an event arrives or an effect is due.
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

    // MARK: - Bus

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
                if let file = text.pictureOf { send(settings.picture(file), of: token) }
                if bus?.send(BusRequest.show(token: token, text).encoded) != true {
                    perform(machine.hear(.failed(token: token), at: .now))
                }
            case .close(let token): _ = bus?.send(BusRequest.close(token: token).encoded)
            case .count(let count): _ = bus?.send(BusRequest.count(UInt64(max(0, count))).encoded)
            case .perform(let action): settings.perform(action)
            }
        }
    }

    /// Sends the picture, if any. The notification is shown without it if the pipe is full.
    private func send(_ picture: NotificationPicture?, of token: UInt64) {
        guard let picture, let bus else { return }
        let head = BusRequest.picture(
            token: token, width: UInt64(picture.width), height: UInt64(picture.height))
        guard bus.send(head.encoded) else { return }
        for start in stride(from: 0, to: picture.pixels.count, by: IncomingPicture.piece) {
            let piece = picture.pixels[start..<min(start + IncomingPicture.piece, picture.pixels.count)]
            guard bus.send(BusRequest.pixels(token: token, Array(piece)).encoded) else { return }
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

    private mutating func record(_ told: NotificationRecord) {
        do throws(SystemError) {
            try NotificationRecordFile.write(told, in: settings.folder)
        } catch {
            complain(error.sentence)
        }
    }

    /// Logs a failure of recording once.
    private mutating func complain(_ sentence: String) {
        guard !hasComplained else { return }
        hasComplained = true
        log.warning("notifications not recorded, some may repeat: error=\(sentence)")
    }
}
