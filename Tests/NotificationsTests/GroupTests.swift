import Base
import ChatCore
import Testing

@testable import Notifications

@Suite("Notification groups")
struct GroupTests {
    typealias Group = NotificationGroup

    private static func group(
        _ subject: NotificationSubject = .arrival, chat: ChatReference? = .direct(1), _ ids: Int64...
    ) -> Group {
        var group = Group(.init(chat: chat, subject: subject), since: .now)
        for id in ids { group.add(MachineFixture.file(id, in: chat ?? .direct(id))) }
        return group
    }

    @Test("a repeated file counts once")
    func once() {
        var group = Self.group(.arrival, 1, 2)
        group.add(MachineFixture.file(1))
        #expect(group.count == 2 && group.files.map(\.entry) == [.item(ItemID(1)), .item(ItemID(2))])
        #expect(group.items.map(\.entry) == [.item(ItemID(1)), .item(ItemID(2))])
    }

    @Test("texts keep 64 files, counts all")
    func bounds() {
        var group = Self.group(.failure)
        for id in Int64(1)...100 { group.add(MachineFixture.file(id)) }
        #expect(group.count == 100 && group.files.count == Group.maxFiles && group.items.count == 100)
        #expect(group.files.first?.entry == .item(ItemID(37)))
        #expect(group.files.last?.entry == .item(ItemID(100)))
        group.add(NotifiedFile(.draft(5), in: .direct(1), named: "a", name: "d"))
        #expect(group.count == 101 && group.items.count == 101)
        // A file beyond the named ones is removed too, once.
        #expect(group.remove(.item(ItemID(1))) && group.count == 100 && group.items.count == 100)
        #expect(group.remove(.item(ItemID(1))) && group.count == 100)
        #expect(group.remove(.draft(5)) && group.count == 99)
        for id in Int64(2)...99 { #expect(group.remove(.item(ItemID(id))) == true) }
        #expect(group.remove(.item(ItemID(100))) == false && group.files.isEmpty)
    }

    @Test("merging counts common entries once")
    func merged() {
        var group = Self.group(.arrival, 1, 2, 3)
        group.add(Self.group(.arrival, 3, 4))
        #expect(group.count == 4 && group.files.count == 4 && group.items.count == 4)
        group.add(Self.group(.arrival))
        #expect(group.count == 4)
        var empty = Self.group(.arrival)
        empty.add(group)
        #expect(empty.count == 4 && empty.files == group.files)
    }

    @Test("removing the last entry empties the group")
    func removed() {
        var group = Self.group(.arrival, 1, 2)
        #expect(group.remove(.item(ItemID(9))) && group.count == 2)
        #expect(group.remove(.item(ItemID(1))) && group.items.map(\.entry) == [.item(ItemID(2))])
        #expect(group.remove(.item(ItemID(2))) == false)
    }

    @Test("removing chats leaves the rest or nothing")
    func without() {
        var group = Group(.init(chat: nil, subject: .arrival), since: .now)
        for id in Int64(1)...4 { group.add(MachineFixture.file(id, in: .direct(id % 2))) }
        #expect(group.chats == [.direct(0), .direct(1)])
        let rest = group.without([.direct(1)])
        #expect(rest?.count == 2 && rest?.items.map(\.entry) == [.item(ItemID(2)), .item(ItemID(4))])
        #expect(rest?.files.allSatisfy { $0.chat == .direct(0) } == true)
        #expect(group.without([.direct(0), .direct(1)]) == nil)
        #expect(group.without([.group(7)]) == group && group.without([]) == group)
        let refused = Group(
            .init(chat: nil, subject: .refusal, refusal: RefusedRequest("No.")), since: .now)
        #expect(refused.without([.direct(1)]) == refused)
    }

    @Test("a button approves up to four shared relays")
    func approvals() {
        func group(_ relays: [[String]]) -> Group {
            var group = Group(.init(chat: .direct(1), subject: .approval), since: .now)
            for (id, relays) in relays.enumerated() {
                group.add(MachineFixture.file(Int64(id + 1)), relays: relays)
            }
            return group
        }
        let four = ["a", "b", "c", "d"]
        #expect(group([["a"]]).actions(namesRelays: true).buttons.first == .approve(["a"]))
        #expect(group([["a"]]).actions(namesRelays: false).buttons.first == nil)
        #expect(group([four]).actions(namesRelays: true).buttons.first == .approve(four))
        #expect(group([four + ["e"]]).actions(namesRelays: true).buttons.first == nil)
        #expect(group([[]]).actions(namesRelays: true).buttons.first == nil)
        // The order does not matter; a different set does.
        #expect(
            group([["a", "b"], ["b", "a"]]).actions(namesRelays: true).buttons.first == .approve(["a", "b"]))
        #expect(group([["a"], ["b"]]).actions(namesRelays: true).buttons.first == nil)
        #expect(group([["a"], ["b"], ["a"]]).actions(namesRelays: true).buttons.first == nil)
        var both = group([["a"]])
        var other = Group(.init(chat: .direct(1), subject: .approval), since: .now)
        other.add(MachineFixture.file(8), relays: ["a"])
        both.add(other)
        #expect(both.actions(namesRelays: true).buttons.first == .approve(["a"]))
        other.add(MachineFixture.file(9), relays: ["x"])
        both.add(other)
        #expect(both.actions(namesRelays: true).buttons.first == nil)
    }

    @Test(
        "a retry is offered only if safe"
    )
    func failures() {
        var group = Group(.init(chat: .direct(1), subject: .failure), since: .now)
        group.add(MachineFixture.file(1), why: "The disk is full.")
        #expect(
            group.why == "The disk is full."
                && group.actions(namesRelays: false).buttons.first == .retry([.item(ItemID(1))])
        )
        group.add(MachineFixture.file(2), why: "The disk is full.")
        #expect(group.why == "The disk is full.")
        group.add(MachineFixture.file(3), why: "It is too large.")
        #expect(group.why == "" && group.mayRetry)
        group.add(MachineFixture.file(4), why: "The disk is full.", mayRetry: false)
        #expect(group.why == "" && !group.mayRetry && group.actions(namesRelays: false).buttons.first == nil)
        group.add(MachineFixture.file(5), mayRetry: true)
        #expect(!group.mayRetry, "one is enough")
    }

    @Test("the earliest expiry is shown")
    func expiry() {
        var group = Group(.init(chat: .direct(1), subject: .expiry), since: .now)
        for (id, time) in [(1, 50), (2, 20), (3, 90)] as [(Int64, Int64)] {
            group.add(MachineFixture.file(id), expires: Timestamp(seconds: time))
        }
        #expect(group.expires == Timestamp(seconds: 20))
        #expect(group.actions(namesRelays: false).buttons.first == .keep((1...3).map { .item(ItemID($0)) }))
        #expect(
            Self.group(.arrival, 1).actions(namesRelays: true).buttons
                == [.open(.item(ItemID(1))), .show([.item(ItemID(1))])])
    }

    @Test("excess arrivals are merged, other groups dropped")
    func waiting() {
        var waiting = WaitingGroups()
        for chat in Int64(1)...Int64(WaitingGroups.limit) {
            waiting.add(.init(chat: .direct(chat), subject: .arrival), at: .now) {
                $0.add(MachineFixture.file(chat, in: .direct(chat)))
            }
        }
        for chat in Int64(1000)...1004 {
            waiting.add(.init(chat: .direct(chat), subject: .arrival), at: .now) {
                $0.add(MachineFixture.file(chat, in: .direct(chat)))
            }
            waiting.add(.init(chat: .direct(chat), subject: .failure), at: .now) {
                $0.add(MachineFixture.file(chat, in: .direct(chat)))
            }
        }
        #expect(waiting.groups.count == WaitingGroups.limit + 1)
        #expect(waiting.groups.last?.key == .init(chat: nil, subject: .arrival))
        #expect(waiting.groups.last?.count == 5)
        // A waiting group still grows.
        waiting.add(.init(chat: .direct(1), subject: .arrival), at: .now) {
            $0.add(MachineFixture.file(5000, in: .direct(1)))
        }
        #expect(waiting.groups.first?.count == 2)
        let taken = waiting.take([.init(chat: .direct(1), subject: .arrival)])
        #expect(taken.map(\.count) == [2] && waiting.groups.count == WaitingGroups.limit)
        waiting.remove(.item(ItemID(2)), of: [.failure])
        #expect(waiting.groups.count == WaitingGroups.limit)
        waiting.remove(.item(ItemID(2)), of: [.arrival])
        #expect(waiting.groups.count == WaitingGroups.limit - 1)
        #expect(waiting.groups.first?.key.chat == .direct(3), "the others keep their order")
    }

    @Test(
        "a refused server can be approved if named",
        arguments: NotificationPreview.allCases)
    func server(preview: NotificationPreview) {
        let server = "smp://key@10.0.0.1"
        let request = RefusedRequest("It is inside.", server: server)
        let group = Group(.init(chat: nil, subject: .refusal, refusal: request), since: .now)
        let text = NotificationComposer(preview: preview, escapesMarkup: false).text(of: group)
        let isNamed = preview != .hidden
        #expect(text.namesRelays == isNamed && text.body.contains(server) == isNamed)
        #expect(
            group.actions(namesRelays: text.namesRelays).buttons.first == (isNamed ? .approve([server]) : nil)
        )
    }

    @Test("a refusal is repeated after its interval")
    func refusals() {
        var explained = RecentNotices<String>()
        let (now, interval) = (ContinuousClock.now, RecentNotices<String>.interval)
        #expect(explained.isDue("a", at: now))
        explained.note("a", at: now)
        #expect(!explained.isDue("a", at: now + interval - .nanoseconds(1)))
        #expect(explained.isDue("a", at: now + interval))
        explained.note("a", at: now + interval)
        #expect(!explained.isDue("a", at: now + interval))
        #expect(explained.isDue("b", at: now + .seconds(3600)))
        var many = RecentNotices<String>()
        for number in 0..<RecentNotices<String>.limit {
            #expect(many.isDue("\(number)", at: now))
            many.note("\(number)", at: now)
        }
        #expect(!many.isDue("a", at: now))
        #expect(many.isDue("a", at: now + interval), "the old ones are forgotten")
        many.note("a", at: now + interval)
        #expect(!many.isDue("a", at: now + interval))
    }
}
