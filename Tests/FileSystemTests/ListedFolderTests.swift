import Namespace
import Testing

@testable import FileSystem

@Suite("Notices during listings")
struct ListedFolderTests {
    private static let start = ContinuousClock.now
    private static let one = NodeID(1000)
    private static let other = NodeID(1001)

    private static func notice(_ number: UInt64, in folder: NodeID = one) -> WatcherNotice {
        .vanished(NodeID(number), EntryName("\(number)"), in: folder)
    }

    private static func at(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    private static func holds(
        _ folders: inout ListedFolders, _ notice: WatcherNotice, _ now: ContinuousClock.Instant
    ) -> Bool { folders.hold(notice, now: now) }

    private static func due(_ folders: inout ListedFolders, _ now: ContinuousClock.Instant) -> [UInt64] {
        folders.takeDue(now: now).compactMap {
            if case .vanished(let id, _, _) = $0 { id.rawValue } else { nil }
        }
    }

    @Test func quietFolderIsNotifiedAtOnce() {
        var folders = ListedFolders()
        #expect(!Self.holds(&folders, Self.notice(1), Self.at(0)))
        folders.listed(Self.one, now: Self.at(0))
        #expect(!Self.holds(&folders, Self.notice(1, in: Self.other), Self.at(1)))
        #expect(!Self.holds(&folders, Self.notice(1), Self.at(500)))
        #expect(folders.nextDue == nil)
    }

    @Test func noticesWaitInOrderForEndOfListing() {
        var folders = ListedFolders()
        folders.listed(Self.one, now: Self.at(0))
        #expect(Self.holds(&folders, Self.notice(1), Self.at(100)))
        folders.listed(Self.one, now: Self.at(400))
        #expect(Self.due(&folders, Self.at(899)).isEmpty)
        // Later notices stay behind the held one.
        #expect(Self.holds(&folders, Self.notice(2), Self.at(899)))
        #expect(folders.nextDue == Self.at(900))
        #expect(Self.due(&folders, Self.at(900)) == [1, 2])
        #expect(folders.nextDue == nil)
    }

    @Test func continuallyListedFolderIsNotifiedAfterLimit() {
        var folders = ListedFolders()
        for time in stride(from: 0, to: 2100, by: 50) {
            folders.listed(Self.one, now: Self.at(time))
            if time == 100 { #expect(Self.holds(&folders, Self.notice(1), Self.at(time))) }
        }
        #expect(folders.nextDue == Self.at(2100))
        #expect(Self.due(&folders, Self.at(2100)) == [1])
    }

    @Test func manyListedFoldersAreForgotten() {
        var folders = ListedFolders()
        for number in 0..<1000 { folders.listed(NodeID(UInt64(number)), now: Self.at(number * 1000)) }
        #expect(!Self.holds(&folders, Self.notice(1, in: NodeID(3)), Self.at(1_000_000)))
        #expect(Self.holds(&folders, Self.notice(1, in: NodeID(999)), Self.at(999_100)))
    }
}
