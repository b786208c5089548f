import Base
import ChatCore
import Notifications
import TestSupport
import Testing

@testable import chatfs

/// Notifications of items follow their entries.
@Suite struct ArrivalNoticeTests {
    private typealias Fixture = FileSystemFixture

    @Test func removedItemsDelayNoOtherChat() async throws {
        let fixture = try await Fixture.make()
        let told = Lock<[NotificationEvent]>([])
        let source = NotificationSource(
            core: fixture.core, contents: fixture.contents, lister: fixture.fileSystem.lister)
        let tasks = source.follow(fixture.fileSystem) { events in told.withLock { $0 += events } }
        let items = (0..<50).map { fixture.core.received("\($0).bin", in: Fixture.bob, size: 10) }
        fixture.core.tell(.newChatItems(items))
        fixture.core.state.withLock { $0.items = [] }
        fixture.core.tell(.chatItemsDeleted(items.map { (Fixture.bob, $0.id) }, .disappeared))
        let other = fixture.core.received("other.bin", in: Fixture.silent, size: 10)
        fixture.core.tell(.newChatItems([other]))
        // One wait for each removed item would take longer.
        try await wait(until: "the other chat's file is told", within: .seconds(50)) {
            told.withLock { $0.contains { Self.arrived($0)?.entry == .item(other.id) } }
        }
        for item in items {
            let last = told.withLock { events in
                events.last { $0 == .gone(.item(item.id)) || Self.arrived($0)?.entry == .item(item.id) }
            }
            #expect(last == .gone(.item(item.id)))
        }
        for task in tasks { task.cancel() }
        await fixture.end()
    }

    @Test func anArrivalHasTheNameOfItsEntry() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 10) }
        let told = Lock<[NotificationEvent]>([])
        let source = NotificationSource(
            core: fixture.core, contents: fixture.contents, lister: fixture.fileSystem.lister)
        let tasks = source.follow(fixture.fileSystem) { events in told.withLock { $0 += events } }
        fixture.core.tell(.newChatItems([fixture.core.received("a.bin", in: Fixture.bob, size: 10)]))
        let file = try await wait(for: "the arrival") {
            told.withLock { $0.lazy.compactMap(Self.arrived).first }
        }
        let names = fixture.fileSystem.entries(try fixture.id("bob")).map(\.name.description)
        #expect(names.count == 2 && file.name != "a.bin" && names.contains(file.name), "\(names)")
        for task in tasks { task.cancel() }
        await fixture.end()
    }

    @Test func aReceivedFileExpiresNoMore() async throws {
        let fixture = try await Fixture.make()
        let source = NotificationSource(
            core: fixture.core, contents: fixture.contents, lister: fixture.fileSystem.lister)
        var item = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        item.file?.status = .rcvComplete
        let events = await source.events(of: .itemChanged(item, .completed))
        #expect(events.contains(.received(.item(item.id))))
        await fixture.end()
    }

    @Test func removedChatsHaveNoUnreadMessages() async throws {
        let fixture = try await Fixture.make()
        let source = NotificationSource(
            core: fixture.core, contents: fixture.contents, lister: fixture.fileSystem.lister)
        #expect(await source.events(of: .chatRemoved(Fixture.bob)).contains(.seen(Fixture.bob)))
        let told = try #require(
            NotificationRecord(
                "chatfs notifications 1\nbeginning 0\nhistory 0\ntexts @9 3\ntexts \(Fixture.bob) 1\n"))
        #expect(await source.removedChats(since: told) == [.seen(.direct(9))])
        await fixture.end()
    }

    @Test(arguments: [false, true])
    func logsOfAPhoneAreNotNotified(isPhone: Bool) async throws {
        let line =
            #"{"event":"message","id":"1","direction":"received","sender":"bob","text":"hello"}"# + "\n"
        let fixture = try await Fixture.make { core in
            core.state.withLock { $0.logs[Fixture.bob] = Array(line.utf8) }
        }
        var source = NotificationSource(
            core: fixture.core, contents: fixture.contents, lister: fixture.fileSystem.lister)
        if isPhone { source.phone = AwaitedPhone(of: fixture.core.profile) }
        source.texts.follow(from: [:])
        #expect(await source.missedTexts().count == (isPhone ? 0 : 1))
        // The numbers of its messages, which are compared with these, are smaller than the lengths of its logs.
        #expect(await source.present().logEnds.isEmpty == isPhone)
        await fixture.end()
    }

    @Test func deletionsNameChatAndMember() async throws {
        let lines = """
            {"event":"deletion","id":"a","direction":"received","member":"eve","sender":"x"}
            {"event":"deletion","id":"a","direction":"received","sender":"x"}
            {"event":"deletion","id":"a","direction":"sent","sender":"x"}

            """
        let fixture = try await Fixture.make { core in
            core.state.withLock { $0.logs[Fixture.bob] = Array(lines.utf8) }
        }
        let source = NotificationSource(
            core: fixture.core, contents: fixture.contents, lister: fixture.fileSystem.lister)
        source.texts.follow(from: [:])
        let gone = [TextReference("a", by: "eve", in: Fixture.bob), TextReference("a", in: Fixture.bob)]
        #expect(await source.missedTexts() == gone.map { .gone(.text($0)) })
        await fixture.end()
    }

    @Test func arrivalsGoneWhileUnmountedAreNotUnread() async throws {
        let lines = """
            {"event":"message","id":"here","direction":"received","sender":"bob","text":"hello"}
            {"event":"disappeared","id":"expired"}\("   ")
            {"event":"disappeared","id":"read"}
            {"event":"disappeared","id":"other","member":"eve"}

            """
        let fixture = try await Fixture.make { core in
            _ = core.received("a.bin", in: Fixture.bob, size: 10)
            core.state.withLock { $0.logs[Fixture.bob] = Array(lines.utf8) }
        }
        let source = NotificationSource(
            core: fixture.core, contents: fixture.contents, lister: fixture.fileSystem.lister)
        let bob = Fixture.bob
        let told = try #require(
            NotificationRecord(
                "chatfs notifications 1\nbeginning 0\nhistory 0\nunread 1 \(bob)\nunread 7 \(bob)\n"
                    + "text \(bob) here\ntext \(bob) expired\ntext \(bob) other\n"))
        #expect(told.unread.byChat == [bob: 5])
        #expect(await source.expiredTexts(since: told) == [.gone(.text(TextReference("expired", in: bob)))])
        #expect(await source.removedFiles(since: told) == [.gone(.item(ItemID(7)))])
        let gone = await source.events(of: .textsGone([TextReference("here", in: bob)]))
        #expect(gone == [.gone(.text(TextReference("here", in: bob)))])
        let reads = fixture.core.state.withLock { state in
            state.itemRefusal = ChatError(.file(.timedOut), "The core does not answer.")
            return state.itemReads
        }
        #expect(await source.removedFiles(since: told).isEmpty)
        #expect(fixture.core.state.withLock { $0.itemReads } == reads + 1, "a silent core is asked once")
        await fixture.end()
    }

    private static func arrived(_ event: NotificationEvent) -> NotifiedFile? {
        if case .arrived(let file, _) = event { file } else { nil }
    }
}
