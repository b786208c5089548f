import Base
import ChatCore
import TestSupport
import Testing

@testable import Notifications

@Suite("Faulty services and buttons")
struct ServiceTests {
    typealias Fixture = MachineFixture

    @Test("without a bus, notifications wait")
    func noBus() {
        var fixture = Fixture(capabilities: nil)
        #expect(fixture.pass(.seconds(1_000_000)) == 0)
        fixture.arrive(1...1)
        let steps = fixture.pass(.seconds(86_400))
        #expect((10...300).contains(steps), "\(steps)")
        #expect(fixture.take().allSatisfy { $0 == .start })
        // A new notification shortens the delay, but does not cause a try each time.
        let before = fixture.now
        for id in 2...100 { fixture.arrive(Int64(id)...Int64(id)) }
        #expect(fixture.machine.wake.map { before.duration(to: $0) <= .seconds(5) } == true)
        fixture.capabilities = []
        fixture.pass(.seconds(5))
        #expect(fixture.shown().last?.text.summary == "100 new files in chat @1")
    }

    @Test("a slow bus is dropped after 30 seconds")
    func slow() {
        var fixture = Fixture()
        fixture.arrive(1...1)
        #expect(fixture.machine.step(at: fixture.now) == [.start])
        #expect(fixture.machine.step(at: fixture.now + .seconds(29)).isEmpty)
        #expect(fixture.machine.step(at: fixture.now + .seconds(30)) == [.stop])
        #expect(fixture.machine.hear(.ended, at: fixture.now + .seconds(30)).isEmpty)
        fixture.now += .seconds(60)
        fixture.pass(.zero)
        #expect(fixture.shown().count == 1)
    }

    @Test("an unresponsive service gets one request per chat")
    func silent() {
        var fixture = Fixture()
        fixture.answers = false
        for id in 1...100 {
            fixture.arrive(Int64(id)...Int64(id))
            fixture.pass(.seconds(1))
        }
        #expect(fixture.shown().count == 4)
        for id in 1000...1200 {
            fixture.arrive(Int64(id)...Int64(id), in: .group(Int64(id)))
            fixture.pass(.milliseconds(50))
        }
        // At most 16 requests are pending.
        #expect(fixture.shown().count <= ShownNotifications.maxUnanswered + 1)
        fixture.answers = true
        fixture.pass(.seconds(120))
        #expect(fixture.machine.wake == nil)
    }

    @Test("a refusing service is retried, then given up")
    func refusing() {
        var fixture = Fixture()
        fixture.arrive(1...1)
        fixture.answers = false
        var shows = 0
        for _ in 0..<1000 {
            fixture.performDue()
            for (token, _) in fixture.shown() {
                shows += 1
                _ = fixture.machine.hear(.failed(token: token), at: fixture.now)
            }
            fixture.now += .seconds(1)
        }
        #expect(shows == 4)
    }

    @Test("a new service starts without old notifications")
    func restarted() {
        var fixture = Fixture()
        fixture.add(.sendingFailed(Fixture.file(1), why: "", mayRetry: true))
        fixture.arrive(2...2)
        fixture.pass(.seconds(2))
        #expect(fixture.shown().map(\.token) == [1, 2])
        #expect(fixture.machine.hear(.noService, at: fixture.now).isEmpty)
        fixture.arrive(3...3)
        fixture.pass(.seconds(100))
        #expect(fixture.shown().isEmpty && fixture.machine.wake == nil)
        #expect(fixture.machine.hear(.acted(token: 1), at: fixture.now).isEmpty)
        #expect(fixture.machine.hear(.ready(capabilities: []), at: fixture.now).isEmpty)
        fixture.pass(.seconds(2))
        let shown = fixture.shown()
        #expect(shown.map(\.text.body) == ["3.txt"] && shown.first?.token == 3)
    }

    @Test("a button acts once on all files")
    func buttons() {
        var fixture = Fixture()
        for id in 1...3 { fixture.add(.sendingFailed(Fixture.file(Int64(id)), why: "No.", mayRetry: true)) }
        fixture.pass(.zero)
        #expect(fixture.shown().map(\.text.buttons) == [["Try Again"]])
        let action = NotificationAction.retry((1...3).map { .item(ItemID($0)) })
        #expect(
            fixture.machine.hear(.acted(token: 1), at: fixture.now) == [.perform(action), .close(token: 1)])
        #expect(fixture.machine.hear(.acted(token: 1), at: fixture.now).isEmpty)
        fixture.add(.expires(Fixture.file(9), at: Fixture.beginning))
        fixture.pass(.seconds(2))
        #expect(
            fixture.machine.hear(.acted(token: 2), at: fixture.now).first
                == .perform(.keep([.item(ItemID(9))])))
    }

    @Test("held files are sent or discarded once")
    func held() {
        let entries = (1...2).map { NotifiedEntry.item(ItemID($0)) }
        for isSecond in [false, true] {
            var fixture = Fixture()
            for id in 1...2 { fixture.add(.held(Fixture.file(Int64(id)), why: "cp could not read it.")) }
            fixture.pass(.zero)
            let text = fixture.shown().first?.text
            #expect(text?.buttons == ["Send", "Discard"] && text?.isClickable == true)
            #expect(text?.body == "2 files may be unfinished and are not sent. cp could not read it.")
            let action = isSecond ? NotificationAction.discard(entries) : .send(entries)
            let answer = NotificationAnswer.acted(token: 1, isSecond ? 2 : 1)
            #expect(NotificationAnswer(encoded: answer.encoded) == answer)
            #expect(fixture.machine.hear(answer, at: fixture.now) == [.perform(action), .close(token: 1)])
            #expect(fixture.machine.hear(answer, at: fixture.now).isEmpty)
            fixture.add(.held(Fixture.file(1), why: "Again."))
            fixture.pass(.seconds(2))
            #expect(fixture.shown().isEmpty)
            // Rewritten, it may be notified again.
            fixture.add(.recovered(entries[0]))
            fixture.add(.held(Fixture.file(1), why: "Again."))
            fixture.pass(.seconds(2))
            #expect(fixture.shown().last?.text.body == "1.txt may be unfinished and is not sent. Again.")
        }
    }

    @Test("unnamed relays are not approved")
    func approvals() {
        func button(_ relays: [[String]], _ preview: NotificationPreview = .contact) -> String? {
            var fixture = Fixture(preview: preview)
            for (id, relays) in relays.enumerated() {
                fixture.add(.awaitsApproval(Fixture.file(Int64(id + 1)), relays: relays))
            }
            fixture.pass(.zero)
            return fixture.shown().first?.text.buttons.first
        }
        #expect(button([["xftp://a@b"]]) == "Approve Relay")
        #expect(button([["xftp://a@b", "xftp://c@d"], ["xftp://c@d", "xftp://a@b"]]) == "Approve Relays")
        #expect(button([["xftp://a@b"], ["xftp://c@d"]]) == nil)
        #expect(button([[]]) == nil)
        #expect(button([(1...5).map { "xftp://a@\($0)" }]) == nil)
        #expect(button([["xftp://a@b"]], .hidden) == nil)
    }

    @Test("possibly sent files are not sent again")
    func unsure() {
        var fixture = Fixture()
        fixture.add(.sendingFailed(Fixture.file(1), why: "Nobody knows.", mayRetry: false))
        fixture.pass(.zero)
        let shown = fixture.shown()
        #expect(shown.first?.text.buttons == [] && shown.first?.text.body.contains("Send Again") == true)
    }

    @Test("a simple service gets no buttons or markup")
    func plain() {
        var fixture = Fixture(capabilities: ["body"])
        fixture.add(.sendingFailed(Fixture.file(1, named: "<b>.txt"), why: "A & B.", mayRetry: true))
        fixture.pass(.zero)
        let shown = fixture.shown()
        #expect(
            shown.first?.text.body == "<b>.txt could not be sent. A & B." && shown.first?.text.buttons == [])
    }

    @Test("other mounts' count is added")
    func count() {
        var fixture = Fixture()
        fixture.add(.unreadElsewhere(3))
        fixture.pass(.seconds(1))
        #expect(fixture.take() == [.start, .count(3)])
        fixture.arrive(1...2)
        fixture.pass(.seconds(3))
        #expect(fixture.take().last == .count(5))
        fixture.add(.unreadElsewhere(0))
        fixture.pass(.seconds(3))
        #expect(fixture.take() == [.count(2)])
    }

    @Test("random events keep memory bounded")
    func random() {
        var generator = SeededGenerator(state: 11)
        for round in 0..<60 {
            var fixture = Fixture(round % 3 == 0 ? .periodic : .instant)
            fixture.answers = round % 2 == 0
            for _ in 0..<400 {
                let id = Int64.random(in: 1...60, using: &generator)
                let file = Fixture.file(id, in: .direct(id % 7 + 1))
                let token = UInt64.random(in: 0...20, using: &generator)
                switch Int.random(in: 0..<14, using: &generator) {
                case 0...3: fixture.add(.arrived(file, time: Fixture.beginning))
                case 4: fixture.add(.awaitsApproval(file, relays: ["xftp://a@b"]))
                case 5: fixture.add(.sendingFailed(file, why: "\(id)", mayRetry: true))
                case 6: fixture.add(.opened(file.entry))
                case 7: fixture.add(.recovered(file.entry))
                case 8: fixture.add(.gone(file.entry))
                case 9: fixture.add(.refused(RefusedRequest("\(id)")))
                case 10: _ = fixture.machine.hear(.shown(token: token), at: fixture.now)
                case 11: _ = fixture.machine.hear(.failed(token: token), at: fixture.now)
                case 12: _ = fixture.machine.hear(.closed(token: token), at: fixture.now)
                default:
                    let answer: NotificationAnswer = [
                        .ended, .noService, .ready(capabilities: []),
                    ][Int.random(in: 0..<3, using: &generator)]
                    _ = fixture.machine.hear(answer, at: fixture.now)
                }
                fixture.pass(.milliseconds(Int.random(in: 0...400, using: &generator)))
            }
            fixture.answers = true
            _ = fixture.machine.hear(.ready(capabilities: []), at: fixture.now)
            fixture.pass(.seconds(5000))
            #expect(fixture.machine.wake == nil, "round \(round)")
        }
    }
}
