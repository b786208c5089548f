import Base
import ChatCore
import Testing

@testable import Notifications

@Suite("Opened files")
struct OpenedFilesTests {
    private static func entry(_ id: Int64) -> NotifiedEntry { .item(ItemID(id)) }

    /// The next mount's notifications of these items, with this mount's record.
    private func told(next: MachineFixture, _ ids: ClosedRange<Int64>) -> [NotificationText] {
        var again = MachineFixture(told: next.machine.told)
        again.arrive(ids)
        again.pass(.seconds(10))
        return again.shown().map(\.text)
    }

    @Test("opening removes any of many waiting files", arguments: [1, 64, 65, 200] as [Int64])
    func waiting(count: Int64) {
        var world = MachineFixture()
        world.arrive(1...count)
        for id in 1...count { world.add(.opened(Self.entry(id))) }
        world.pass(.seconds(10))
        #expect(world.shown().isEmpty)
        #expect(world.machine.told.unread.isEmpty, "each would count as new for ever")
    }

    @Test(
        "opening the last file closes the notification",
        arguments: [true, false])
    func shown(isOldestFirst: Bool) {
        var world = MachineFixture()
        world.arrive(1...200)
        world.pass(.seconds(2))
        let token = world.shown().first?.token
        #expect(token != nil && world.machine.told.unread.count == 200)
        let ids = isOldestFirst ? Array(Int64(1)...200) : Array((Int64(1)...200).reversed())
        for id in ids.dropLast() { world.add(.opened(Self.entry(id))) }
        world.pass(.seconds(10))
        let early = world.take().contains { if case .close = $0 { true } else { false } }
        #expect(!early, "one of them is still new")
        world.add(.opened(Self.entry(ids[199])))
        world.pass(.seconds(10))
        #expect(world.take().contains(.close(token: token ?? 0)))
        #expect(world.machine.told.unread.isEmpty)
    }

    @Test("files opened while waiting are not news")
    func nextMount() {
        var world = MachineFixture(.periodic)
        world.arrive(1...3)
        world.add(.opened(Self.entry(2)))
        _ = world.machine.finish(at: world.now)
        let texts = told(next: world, 1...3)
        #expect(texts.count == 1 && texts[0].body.contains("1.txt"), "\(texts)")
        #expect(!texts[0].body.contains("2.txt"), "\(texts)")
        // All files of a group: nothing is left.
        world.add(.opened(Self.entry(1)))
        world.add(.opened(Self.entry(3)))
        #expect(told(next: world, 1...3).isEmpty)
        // Also after storing and loading.
        let kept = NotificationRecord(world.machine.told.text)
        #expect(kept == world.machine.told)
    }

    @Test("a file opened before its arrival is silent")
    func early() {
        var world = MachineFixture()
        world.add(.opened(Self.entry(7)))
        world.arrive(6...8)
        world.pass(.seconds(5))
        let texts = world.shown().map(\.text)
        #expect(texts.count == 1 && !texts[0].body.contains("7.txt"), "\(texts)")
        #expect(world.machine.told.unread.files.map(\.id) == [ItemID(6), ItemID(8)])
        #expect(!told(next: world, 7...7).contains { $0.body.contains("7.txt") })
    }

    @Test("opening old files does not affect arrivals")
    func history() {
        var world = MachineFixture()
        for id in Int64(1000)...3000 { world.add(.opened(Self.entry(id))) }
        #expect(world.machine.told.text == MachineFixture().machine.told.text)
        world.arrive(1...1)
        world.pass(.seconds(5))
        #expect(world.shown().count == 1)
        // The latest are remembered.
        world.arrive(3000...3000)
        world.pass(.seconds(5))
        #expect(world.shown().isEmpty)
        world.arrive(3001...3001)
        world.pass(.seconds(5))
        #expect(world.shown().count == 1)
    }

    @Test("an opened or deleted file counts once")
    func twice() {
        var world = MachineFixture()
        world.arrive(1...3)
        world.pass(.seconds(5))
        for event in [NotificationEvent.opened(Self.entry(1)), .opened(Self.entry(1)), .gone(Self.entry(1))] {
            world.add(event)
        }
        #expect(world.machine.told.unread.files.map(\.id) == [ItemID(2), ItemID(3)])
        world.add(.gone(Self.entry(2)))
        world.add(.opened(Self.entry(3)))
        world.pass(.seconds(5))
        #expect(world.machine.told.unread.isEmpty)
        #expect(world.take().contains { if case .close = $0 { true } else { false } })
    }

    @Test("opening after expiry notices silences them")
    func expiry() {
        var world = MachineFixture()
        world.add(.opened(Self.entry(5)))
        world.add(.expires(MachineFixture.file(5), at: MachineFixture.beginning))
        world.pass(.seconds(5))
        #expect(world.shown().count == 1)
        world.add(.expires(MachineFixture.file(6), at: MachineFixture.beginning))
        world.add(.opened(Self.entry(6)))
        world.pass(.seconds(60))
        #expect(world.shown().isEmpty)
        world.add(.received(Self.entry(5)))
        world.pass(.seconds(5))
        #expect(world.take().contains(.close(token: 1)))
    }
}
