import ChatCore
import Testing

@testable import Notifications

@Suite("What is on show")
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

    @Test("what comes to a chat becomes part of what is on show of it; what its user closed begins anew")
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

    @Test("what failed is told again as it was added, not all that was on show; once")
    func failures() {
        var shown = ShownNotifications()
        let token = Self.show(Self.group(1), on: &shown)
        shown.answered(token)
        #expect(Self.show(Self.group(2), on: &shown) == token)
        #expect(shown.failed(token)?.count == 1)
        #expect(shown.failed(token) == nil)
        #expect(shown.acted(token) == nil, "its button went with it")
    }

    @Test("what is not answered in its time is given up, and makes place for others")
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

    @Test("of more than a desktop should hold the oldest goes")
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

    @Test("what was opened elsewhere is closed when nothing is left of it, and nothing else is")
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

    @Test("another service has nothing of what was on show")
    func forgotten() {
        var shown = ShownNotifications()
        let token = Self.show(Self.group(1), on: &shown)
        shown.forgetAll()
        #expect(shown.failed(token) == nil && shown.nextTimeout == nil)
        #expect(Self.show(Self.group(2), on: &shown) != token)
    }
}
