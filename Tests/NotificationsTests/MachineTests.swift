import Base
import ChatCore
import TestSupport
import Testing

@testable import Notifications

@Suite("The notification machine")
struct MachineTests {
    typealias Fixture = MachineFixture

    @Test("a file is recorded, then shown at once")
    func one() {
        var fixture = Fixture()
        fixture.arrive(1...1)
        fixture.pass(.zero)
        let effects = fixture.take()
        #expect(effects.count == 4 && effects[0] == .start)
        guard case .record(let told) = effects[1], case .show(let token, let text) = effects[2] else {
            Issue.record("\(effects)")
            return
        }
        #expect(!told.isNews(ItemID(1), in: .direct(1), at: Fixture.beginning))
        #expect(token == 1 && text.summary == "someone sent a file to chat @1" && text.body == "1.txt")
        #expect(effects[3] == .count(1))
        #expect(fixture.machine.wake == nil)
    }

    @Test("a chat has one notification per second")
    func rate() {
        var fixture = Fixture()
        for second in 0..<10 {
            for part in 0..<10 {
                fixture.arrive(Int64(second * 10 + part + 1)...Int64(second * 10 + part + 1))
                fixture.pass(.milliseconds(100))
            }
        }
        fixture.pass(.seconds(5))
        let shown = fixture.shown()
        #expect(shown.count == 11 && Set(shown.map(\.token)) == [1])
        #expect(shown.last?.text.summary == "100 new files in chat @1")
        #expect(shown.last?.text.body == "100.txt, 99.txt, 98.txt and 97 more")
        #expect(fixture.machine.wake == nil)
    }

    @Test("ten thousand arrivals give two notifications")
    func burst() {
        var fixture = Fixture()
        fixture.arrive(1...1)
        fixture.pass(.zero)
        fixture.arrive(2...10_000)
        fixture.pass(.seconds(10))
        let shown = fixture.shown()
        #expect(shown.count == 2 && shown.last?.text.summary == "10000 new files in chat @1")
        #expect(fixture.machine.told.unread.count == UnreadMessages.maxFiles)
    }

    @Test("many chats share one notification")
    func together() {
        var fixture = Fixture()
        for chat in 1...3 { fixture.arrive(Int64(chat)...Int64(chat), in: .direct(Int64(chat))) }
        fixture.pass(.zero)
        #expect(fixture.shown().count == 3)
        fixture.now += .seconds(60)
        for chat in 1...300 {
            let id = Int64(1000 + chat * 2)
            fixture.arrive(id...id + 1, in: .direct(Int64(chat)))
        }
        fixture.pass(.seconds(10))
        let shown = fixture.shown()
        #expect(shown.count <= 2)
        // Chats beyond the limit share the notification.
        #expect(shown.first?.text.summary == "600 new files in 300 chats", "\(shown)")
    }

    @Test("problems of many chats share one notification")
    func problemsTogether() {
        var fixture = Fixture()
        for chat in 1...20 {
            let file = Fixture.file(Int64(chat), in: .direct(Int64(chat)))
            fixture.add(.expires(file, at: Fixture.beginning))
            fixture.add(.sendingFailed(file, why: "The disk is full.", mayRetry: true))
            fixture.add(.awaitsApproval(file, relays: ["xftp://a@b"]))
        }
        fixture.pass(.zero)
        let shown = fixture.shown()
        let texts = shown.map(\.text)
        #expect(texts.count == 3 && texts.allSatisfy { $0.summary == "ChatFS" && !$0.isClickable })
        #expect(Set(texts.flatMap(\.buttons)) == ["Keep", "Try Again", "Approve Relay"])
        #expect(texts.contains { $0.body.hasPrefix("20 files expire on the relay soon, the first at") })
        let keeping = shown.first { $0.text.buttons == ["Keep"] }?.token ?? 0
        let effects = fixture.machine.hear(.acted(token: keeping), at: fixture.now)
        #expect(effects.first == .perform(.keep((1...20).map { .item(ItemID($0)) })), "\(effects)")
    }

    @Test("a button acts on all files that its text counts")
    func manyFiles() {
        var fixture = Fixture()
        for id in 1...200 {
            fixture.add(.expires(Fixture.file(Int64(id)), at: Fixture.beginning))
            let draft = NotifiedFile(.draft(Int64(id)), in: .direct(1), named: "Bob", name: "\(id).txt")
            fixture.add(.held(draft, why: ""))
        }
        fixture.pass(.seconds(5))
        let shown = fixture.shown()
        #expect(shown.contains { $0.text.body.hasPrefix("200 files expire") })
        for (token, text) in shown {
            let action = fixture.machine.hear(.acted(token: token), at: fixture.now).first
            switch action {
            case .perform(.keep(let entries)), .perform(.send(let entries)):
                #expect(entries.count == 200 && Set(entries).count == 200)
            default: Issue.record("\(text) does \(String(describing: action))")
            }
        }
    }

    @Test("dismissed arrivals are not counted again")
    func dismissed() {
        var fixture = Fixture()
        fixture.arrive(1...3)
        fixture.pass(.zero)
        _ = fixture.take()
        #expect(fixture.machine.hear(.closed(token: 1), at: fixture.now).isEmpty)
        fixture.now += .seconds(5)
        fixture.arrive(4...4)
        fixture.pass(.zero)
        let shown = fixture.shown()
        #expect(shown.map(\.token) == [2] && shown[0].text.body == "4.txt")
    }

    @Test("arrivals are unread without a service too")
    func unread() {
        var fixture = Fixture(capabilities: nil)
        fixture.arrive(1...3)
        fixture.arrive(4...4, in: .direct(2))
        fixture.pass(.seconds(100))
        #expect(fixture.machine.unread == [.direct(1): 3, .direct(2): 1])
        fixture.add(.opened(.item(ItemID(2))))
        fixture.add(.seen(.direct(2)))
        #expect(fixture.machine.unread == [.direct(1): 2])
        fixture.capabilities = []
        fixture.pass(.seconds(400))
        #expect(fixture.shown().count == 1)
        #expect(fixture.machine.unread == [.direct(1): 2], "none counts twice")
    }

    @Test("items are notified once, history never")
    func history() {
        let told = NotificationRecord(beginning: Fixture.beginning, history: ItemID(100))
        var fixture = Fixture(told: told)
        fixture.arrive(90...100)
        let old = Fixture.beginning.advanced(by: .seconds(-3600))
        fixture.add(.arrived(Fixture.file(101), time: old))
        fixture.pass(.seconds(5))
        #expect(fixture.take().isEmpty)
        fixture.arrive(102...102)
        fixture.arrive(102...102)
        fixture.pass(.seconds(5))
        fixture.arrive(102...102)
        fixture.pass(.seconds(5))
        #expect(fixture.shown().map(\.text.body) == ["102.txt"])
    }

    @Test("a history is notified once as a whole")
    func fromTheEnd() {
        var fixture = Fixture()
        for id in (1...50).reversed() {
            fixture.arrive(Int64(id)...Int64(id))
            fixture.pass(.milliseconds(500))
        }
        fixture.pass(.seconds(5))
        #expect(fixture.shown().last?.text.summary == "someone sent 50 files to chat @1")
        var next = Fixture(told: fixture.machine.told)
        next.arrive(1...50)
        next.arrive(51...51)
        next.pass(.seconds(5))
        #expect(next.shown().map(\.text.body) == ["51.txt"])
    }

    @Test("a kill loses and repeats nothing recorded")
    func killed() {
        var generator = SeededGenerator(state: 7)
        for _ in 0..<200 {
            var fixture = Fixture()
            for id in 1...20 {
                fixture.arrive(Int64(id)...Int64(id), in: .direct(Int64.random(in: 1...6, using: &generator)))
                fixture.pass(.milliseconds(Int.random(in: 0...700, using: &generator)))
            }
            let effects = fixture.take()
            let end = Int.random(in: 0...effects.count, using: &generator)
            // The stored record, and the chats with notifications since.
            var told = NotificationRecord(beginning: Fixture.beginning, history: ItemID(0))
            var shows = 0
            for effect in effects[..<end] {
                switch effect {
                case .record(let now): told = now
                case .show: shows += 1
                default: break
                }
            }
            var next = Fixture(told: told)
            for id in 1...20 { next.arrive(Int64(id)...Int64(id), in: .direct(1)) }
            #expect(shows == 0 || !told.arrivals.isEmpty)
            for (chat, id) in told.arrivals {
                #expect(!told.isNews(id, in: chat, at: Fixture.beginning))
            }
        }
    }

    @Test("reports come every twenty minutes, refusals at once")
    func periodic() {
        var fixture = Fixture(.periodic)
        let begin = fixture.now
        #expect(fixture.pass(.seconds(3000)) == 0)
        fixture.arrive(1...2)
        fixture.arrive(3...3, in: .group(1))
        fixture.add(.refused(RefusedRequest("No.")))
        fixture.pass(.seconds(60))
        #expect(fixture.shown().map(\.text.body) == ["No."])
        // The next report is at one hour.
        #expect(fixture.machine.wake.map { begin.duration(to: $0) } == .seconds(3600))
        fixture.pass(.seconds(539))
        #expect(fixture.shown().isEmpty)
        fixture.pass(.seconds(2))
        #expect(fixture.shown().count == 2)
        #expect(fixture.pass(.seconds(100_000)) == 0)
    }

    @Test("changed keys are notified once until confirmed")
    func changedKeys() {
        var fixture = Fixture(.periodic)
        fixture.muted = [.direct(1)]
        for _ in 0..<3 {
            fixture.add(.keysChanged(.direct(1), named: "bob"))
            fixture.pass(.seconds(2))
        }
        let shown = fixture.shown()
        #expect(shown.map(\.text.summary) == ["bob"])
        #expect(shown.first?.text.body.contains("the keys have changed") == true)
        var next = Fixture(told: fixture.machine.told)
        next.add(.keysChanged(.direct(1), named: "bob"))
        next.pass(.seconds(2))
        #expect(next.shown().isEmpty)
        next.add(.keysKnown(.direct(1)))
        next.add(.keysChanged(.direct(1), named: "bob"))
        next.pass(.seconds(2))
        #expect(next.shown().count == 1)
    }

    @Test("turned off, the machine does nothing")
    func off() {
        var fixture = Fixture(.off)
        fixture.arrive(1...5)
        fixture.add(.refused(RefusedRequest("No.")))
        fixture.add(.sendingFailed(Fixture.file(9), why: "", mayRetry: true))
        #expect(fixture.pass(.seconds(10_000)) == 0 && fixture.take().isEmpty)
    }

    @Test("muted chats only report own failures")
    func muted() {
        var fixture = Fixture()
        fixture.muted = [.direct(1)]
        fixture.arrive(1...5)
        fixture.arrive(6...6, in: .group(1))
        fixture.add(.awaitsApproval(Fixture.file(7), relays: ["xftp://a@b"]))
        fixture.pass(.seconds(3))
        #expect(fixture.shown().map(\.text.summary) == ["someone sent a file to chat #1"])
        fixture.muted = []
        fixture.pass(.seconds(3))
        fixture.add(.sendingFailed(Fixture.file(8), why: "No.", mayRetry: true))
        fixture.muted = [.direct(1)]
        fixture.pass(.seconds(3))
        #expect(fixture.shown().map(\.text.body) == ["8.txt could not be sent. No."])
        #expect(fixture.machine.told.unread.files.map(\.id) == [ItemID(6)])
    }

    @Test("shown chats report only pending decisions")
    func inFront() {
        var fixture = Fixture()
        fixture.inFront = [.direct(1)]
        fixture.arrive(1...5)
        fixture.add(.awaitsApproval(Fixture.file(7), relays: ["xftp://a@b"]))
        fixture.pass(.seconds(3))
        #expect(fixture.shown().map(\.text.buttons) == [["Approve Relay"]])
    }

    @Test("opened or deleted files leave their notification")
    func settled() {
        var fixture = Fixture()
        fixture.arrive(1...1)
        fixture.pass(.zero)
        fixture.arrive(2...3)
        fixture.add(.opened(.item(ItemID(2))))
        fixture.add(.gone(.item(ItemID(3))))
        fixture.pass(.seconds(2))
        #expect(fixture.shown().map(\.text.body) == ["1.txt"])
        #expect(fixture.machine.told.unread.files.map(\.id) == [ItemID(1)])
        fixture.add(.opened(.item(ItemID(1))))
        fixture.pass(.seconds(10))
        let effects = fixture.take()
        #expect(effects.first == .close(token: 1) && effects.contains(.count(0)))
        #expect(effects.contains { if case .record(let told) = $0 { told.unread.isEmpty } else { false } })
    }

    @Test("a refusal is explained once per interval")
    func refusals() {
        var fixture = Fixture()
        for _ in 0..<50 { fixture.add(.refused(RefusedRequest("No.", chatName: "a"))) }
        fixture.pass(.seconds(3000))
        #expect(fixture.shown().count == 1)
        fixture.now += .seconds(700)
        fixture.add(.refused(RefusedRequest("No.", chatName: "a")))
        fixture.pass(.zero)
        #expect(fixture.shown().count == 1)
        for number in 0..<1000 { fixture.add(.refused(RefusedRequest("No.", chatName: "\(number)"))) }
        fixture.pass(.seconds(3000))
        #expect(fixture.shown().count <= RecentNotices<RefusedRequest>.limit)
    }

    @Test("new failures are notified once across mounts")
    func told() {
        let events: [NotificationEvent] = [
            .sendingFailed(Fixture.file(1), why: "No.", mayRetry: true),
            .awaitsApproval(Fixture.file(2, in: .direct(2)), relays: ["xftp://a@b"]),
            .expires(Fixture.file(3, in: .direct(3)), at: Fixture.beginning),
        ]
        var fixture = Fixture()
        for _ in 0..<3 { for event in events { fixture.add(event) } }
        fixture.pass(.seconds(3))
        for event in events { fixture.add(event) }
        fixture.pass(.seconds(3))
        #expect(fixture.shown().map(\.text.buttons) == [["Try Again"], ["Approve Relay"], ["Keep"]])
        var next = Fixture(told: fixture.machine.told)
        for event in events { next.add(event) }
        next.pass(.seconds(3))
        #expect(next.shown().isEmpty)
        next.add(.recovered(.item(ItemID(1))))
        for event in events { next.add(event) }
        next.pass(.seconds(3))
        #expect(next.shown().map(\.text.buttons) == [["Try Again"]])
    }
}
