import ChatCore
import Testing

@testable import Notifications

@Suite("Notification schedule")
struct ScheduleTests {
    private static let beginning = ContinuousClock.now

    private static func at(_ seconds: Int) -> ContinuousClock.Instant { beginning + .seconds(seconds) }

    private static func group(
        _ chat: ChatReference?, _ subject: NotificationSubject = .arrival, since second: Int = 0
    ) -> NotificationGroup {
        var group = NotificationGroup(.init(chat: chat, subject: subject), since: at(second))
        if let chat { group.add(MachineFixture.file(1, in: chat)) }
        return group
    }

    @Test("notifications of a chat are a second apart")
    func instant() {
        var schedule = NotificationSchedule(mode: .instant, beginning: Self.beginning)
        let group = Self.group(.direct(1), since: 50)
        #expect(schedule.time(of: group, answerDue: nil) == Self.beginning)
        schedule.told(group, at: Self.at(50))
        #expect(schedule.time(of: group, answerDue: nil) == Self.at(51))
        #expect(schedule.time(of: Self.group(.direct(1), .failure), answerDue: nil) == Self.at(51))
        #expect(schedule.time(of: Self.group(.direct(2)), answerDue: nil) == Self.beginning)
        #expect(schedule.time(of: Self.group(nil, .refusal), answerDue: nil) == Self.beginning)
        schedule.told(Self.group(nil, .refusal), at: Self.at(60))
        #expect(schedule.time(of: Self.group(nil, .refusal), answerDue: nil) == Self.at(61))
        // Not while the service may still answer.
        #expect(schedule.time(of: group, answerDue: Self.at(80)) == Self.at(80))
        #expect(schedule.time(of: group, answerDue: Self.at(10)) == Self.at(51))
    }

    @Test("a group of chats delays each of them")
    func together() {
        var schedule = NotificationSchedule(mode: .instant, beginning: Self.beginning)
        var all = NotificationGroup(.init(chat: nil, subject: .arrival), since: Self.beginning)
        for chat in Int64(1)...3 { all.add(MachineFixture.file(chat, in: .direct(chat))) }
        schedule.told(all, at: Self.at(5))
        for chat in Int64(1)...3 {
            #expect(schedule.time(of: Self.group(.direct(chat)), answerDue: nil) == Self.at(6))
        }
        #expect(schedule.time(of: Self.group(.direct(4)), answerDue: nil) == Self.beginning)
    }

    @Test(
        "reports end each period from the start",
        arguments: [(0, 1200), (1, 1200), (1199, 1200), (1200, 2400), (2399, 2400), (2400, 3600)])
    func reports(second: Int, report: Int) {
        let schedule = NotificationSchedule(mode: .periodic, beginning: Self.beginning)
        let group = Self.group(.direct(1), since: second)
        #expect(schedule.time(of: group, answerDue: nil) == Self.at(report))
        #expect(schedule.time(of: Self.group(nil, .refusal, since: second), answerDue: nil) == Self.beginning)
    }

    @Test("a failed service is retried three times")
    func failures() {
        var schedule = NotificationSchedule(mode: .instant, beginning: Self.beginning)
        let group = Self.group(.direct(1))
        for (round, pause) in [10, 20, 30].enumerated() {
            #expect(schedule.failed(at: Self.at(round * 100)) == true)
            #expect(schedule.time(of: group, answerDue: nil) == Self.at(round * 100 + pause))
        }
        #expect(schedule.failed(at: Self.at(400)) == false)
        schedule.succeeded()
        #expect(schedule.failed(at: Self.at(500)) == true)
        #expect(schedule.time(of: group, answerDue: nil) == Self.at(510))
    }

    @Test("a failed group is retried whole, then dropped")
    func machine() throws {
        var fixture = MachineFixture()
        fixture.answers = false
        fixture.arrive(1...3)
        fixture.pass(.zero)
        for pause in [10, 20, 30] {
            let token = fixture.shown().last?.token ?? 0
            #expect(fixture.machine.hear(.failed(token: token), at: fixture.now).isEmpty)
            fixture.pass(.seconds(pause - 1))
            #expect(fixture.shown().isEmpty)
            fixture.pass(.seconds(1))
        }
        let last = fixture.shown()
        #expect(last.map(\.text.body) == ["3.txt, 2.txt, 1.txt"])
        _ = fixture.machine.hear(.failed(token: try #require(last.first).token), at: fixture.now)
        fixture.pass(.seconds(1000))
        #expect(fixture.shown().isEmpty && fixture.machine.wake == nil)
    }

    @Test("a button acts once and closes")
    func buttons() throws {
        var fixture = MachineFixture()
        fixture.add(.sendingFailed(MachineFixture.file(1), why: "No.", mayRetry: true))
        fixture.pass(.zero)
        let token = try #require(fixture.shown().first).token
        #expect(
            fixture.machine.hear(.acted(token: token), at: fixture.now)
                == [.perform(.retry([.item(ItemID(1))])), .close(token: token)])
        #expect(fixture.machine.hear(.acted(token: token), at: fixture.now).isEmpty)
        #expect(fixture.machine.hear(.acted(token: 999), at: fixture.now).isEmpty)
        // A button that does not exist has no effect.
        fixture.arrive(2...2)
        fixture.pass(.seconds(5))
        let other = try #require(fixture.shown().first).token
        #expect(fixture.machine.hear(.acted(token: other, 3), at: fixture.now).isEmpty)
    }

    @Test("a new service gets the count only")
    func newService() throws {
        var fixture = MachineFixture()
        fixture.arrive(1...2)
        fixture.pass(.zero)
        let first = try #require(fixture.shown().first).token
        _ = fixture.machine.hear(.noService, at: fixture.now)
        fixture.arrive(3...3)
        fixture.pass(.seconds(100))
        #expect(fixture.shown().isEmpty, "it waits for a service")
        _ = fixture.machine.hear(.ready(capabilities: []), at: fixture.now)
        fixture.pass(.zero)
        let effects = fixture.take()
        #expect(effects.contains(.count(3)))
        let shown = effects.compactMap {
            if case .show(let token, let text) = $0 { (token, text) } else { nil }
        }
        #expect(shown.map(\.1.body) == ["3.txt"] && shown.first?.0 != first)
        #expect(fixture.machine.hear(.acted(token: first), at: fixture.now).isEmpty)
    }

    @Test("other mounts' files are counted")
    func elsewhere() {
        var fixture = MachineFixture()
        fixture.add(.unreadElsewhere(5))
        fixture.pass(.zero)
        #expect(fixture.take() == [.start, .count(5)])
        fixture.add(.unreadElsewhere(-3))
        fixture.pass(.zero)
        #expect(fixture.take() == [.count(0)])
        fixture.add(.unreadElsewhere(0))
        fixture.pass(.zero)
        #expect(fixture.take().isEmpty)
    }
}
