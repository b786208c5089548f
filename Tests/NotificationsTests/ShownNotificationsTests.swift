import ChatCore
import Testing

@testable import Notifications

@Suite("Shown notifications")
struct ShownNotificationsTests {
    private static let beginning = ContinuousClock.now

    private static func group(_ id: Int64, in chat: Int64 = 1) -> NotificationGroup {
        var group = NotificationGroup(.init(chat: .direct(chat), subject: .arrival), since: beginning)
        group.add(MachineFixture.file(id, in: .direct(chat)))
        return group
    }

    private static func show(_ added: NotificationGroup, on shown: inout ShownNotifications) -> UInt64 {
        let (token, group) = shown.place(for: added)
        _ = shown.show(token, group, .none, added: added, at: beginning)
        return token
    }

    @Test("arrivals join the shown notification")
    func places() {
        var shown = ShownNotifications()
        let first = Self.show(Self.group(1), on: &shown)
        #expect(Self.show(Self.group(2, in: 2), on: &shown) != first)
        let (token, group) = shown.place(for: Self.group(3))
        #expect(token == first && group.count == 2)
        shown.closed(first)
        let (again, alone) = shown.place(for: Self.group(4))
        #expect(again != first && alone.count == 1)
    }

    @Test("a failure repeats only the added part")
    func failures() {
        var shown = ShownNotifications()
        let token = Self.show(Self.group(1), on: &shown)
        shown.answered(token)
        #expect(Self.show(Self.group(2), on: &shown) == token)
        #expect(shown.failed(token)?.count == 1)
        #expect(shown.failed(token) == nil)
        #expect(shown.acted(token) == nil, "its button went with it")
    }

    @Test("unanswered requests are given up")
    func silence() {
        var shown = ShownNotifications()
        for chat in 1...Int64(ShownNotifications.maxUnanswered) {
            #expect(!shown.isFull)
            _ = Self.show(Self.group(chat, in: chat), on: &shown)
        }
        let end = Self.beginning + ShownNotifications.timeout
        #expect(shown.isFull && shown.nextTimeout == end)
        #expect(shown.answerDue(of: Self.group(1).key) == end)
        shown.giveUp(at: end - .seconds(1))
        #expect(shown.isFull)
        shown.giveUp(at: end)
        #expect(!shown.isFull && shown.nextTimeout == nil && shown.answerDue(of: Self.group(1).key) == nil)
    }

    @Test("the oldest notification makes room")
    func limit() {
        var shown = ShownNotifications()
        var dropped: [UInt64] = []
        for chat in 1...Int64(ShownNotifications.limit + 3) {
            let added = Self.group(chat, in: chat)
            let (token, group) = shown.place(for: added)
            if let oldest = shown.show(token, group, .none, added: added, at: Self.beginning) {
                dropped.append(oldest)
            }
        }
        #expect(dropped == [1, 2, 3])
    }

    @Test("emptied notifications are closed")
    func opened() {
        var shown = ShownNotifications()
        let token = Self.show(Self.group(1), on: &shown)
        _ = Self.show(Self.group(2), on: &shown)
        shown.remove(.item(ItemID(1)), of: [.arrival])
        #expect(!shown.hasObsolete)
        shown.remove(.item(ItemID(2)), of: [.failure])
        #expect(!shown.hasObsolete)
        shown.remove(.item(ItemID(2)), of: [.arrival])
        #expect(shown.takeObsolete() == [token] && !shown.hasObsolete && shown.nextTimeout == nil)
    }

    @Test("a new service has no old notifications")
    func forgotten() {
        var shown = ShownNotifications()
        let token = Self.show(Self.group(1), on: &shown)
        shown.forgetAll()
        #expect(shown.failed(token) == nil && shown.nextTimeout == nil)
        #expect(Self.show(Self.group(2), on: &shown) != token)
    }
}
