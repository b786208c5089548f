import Base
import ChatCore
import TestSupport

@testable import Notifications

/// A machine with a clock that the test sets.
struct MachineFixture {
    typealias Effect = NotificationEffect

    static let beginning = Timestamp(seconds: 1_700_000_000)
    var machine: NotificationMachine
    var now: ContinuousClock.Instant
    private(set) var effects: [Effect] = []
    var muted: Set<ChatReference> = []
    var inFront: Set<ChatReference> = []

    init(
        _ mode: NotificationMode = .instant, preview: NotificationPreview = .message,
        told: NotificationRecord = NotificationRecord(beginning: beginning, history: ItemID(0)),
        capabilities: [String]? = ["actions", "body-markup"]
    ) {
        now = .now
        machine = NotificationMachine(mode: mode, preview: preview, told: told, at: now)
        self.capabilities = capabilities
    }

    /// Capabilities of the service; nil without a bus.
    var capabilities: [String]?
    /// True if the service answers.
    var answers = true

    static func file(
        _ id: Int64, in chat: ChatReference = .direct(1), named name: String? = nil
    ) -> NotifiedFile {
        NotifiedFile(
            .item(ItemID(id)), in: chat, named: "chat \(chat)", name: name ?? "\(id).txt", sender: "someone")
    }

    mutating func arrive(_ ids: ClosedRange<Int64>, in chat: ChatReference = .direct(1)) {
        for id in ids { add(.arrived(Self.file(id, in: chat), time: Self.beginning)) }
    }

    mutating func add(_ event: NotificationEvent) { machine.add(event, at: now) }

    /// Performs the due effects like the driver, with the service's answers.
    mutating func performDue() {
        var todo = machine.step(at: now, muted: muted, inFront: inFront)
        while !todo.isEmpty {
            let effect = todo.removeFirst()
            effects.append(effect)
            switch effect {
            case .start:
                todo += machine.hear(capabilities.map { .ready(capabilities: $0) } ?? .ended, at: now)
                todo += machine.step(at: now, muted: muted, inFront: inFront)
            case .show(let token, _): if answers { todo += machine.hear(.shown(token: token), at: now) }
            case .stop, .record, .close, .count, .perform: break
            }
        }
    }

    /// Advances the clock and performs the due effects. Returns the number of steps with effects.
    @discardableResult
    mutating func pass(_ time: Duration) -> Int {
        let end = now + time
        var steps = 0
        performDue()
        while let wake = machine.wake, wake <= end {
            now = max(now, wake)
            performDue()
            steps += 1
            precondition(steps < 10_000, "the machine wants to be woken again and again")
        }
        now = end
        return steps
    }

    /// Removes and returns the performed effects.
    mutating func take() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    /// Removes and returns the shown notifications.
    mutating func shown() -> [(token: UInt64, text: NotificationText)] {
        take().compactMap { if case .show(let token, let text) = $0 { (token, text) } else { nil } }
    }
}
