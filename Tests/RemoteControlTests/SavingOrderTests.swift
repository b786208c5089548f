import Base
import ChatCore
import Testing

@testable import chatfs

/// The order in which a backup of a phone receives and writes files.
@Suite struct SavingOrderTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let start = ContinuousClock.now

    private static func file(
        _ number: Int64, _ status: FileStatus, hours: Int64 = 10, size: UInt64 = 5
    ) -> SavedFile {
        var file = ChatFile(
            id: FileID(number), name: "\(number)", size: size, status: status, transport: .xftp)
        file.expires = now.advanced(by: .seconds(hours * 3600))
        return SavedFile(
            item: ChatItem(
                id: ItemID(number), chat: .direct(1), direction: .received, sender: "zoe", time: now,
                content: MessageContent(kind: .file), file: file), folder: "Zoe", title: "Zoë")
    }

    private static let offered = FileStatus.rcvInvitation(described: true)

    private static func steps(_ order: inout SavingOrder) -> [SavingOrder.Step] {
        var steps: [SavingOrder.Step] = []
        while true {
            let step = order.next(now: start)
            steps.append(step)
            if step == .wait || step == .end { return steps }
        }
    }

    @Test func soonExpiringFilesAreReceivedFirst() {
        let files = (1...6).map { Self.file($0, Self.offered, hours: 40 - $0) } + [Self.file(7, .rcvComplete)]
        var order = SavingOrder(files, limit: 100, now: Self.now)
        #expect(order.demand == (6, 30) && order.total == 35)
        let first = [6, 5, 4, 3].map { SavingOrder.Step.receive(files[$0 - 1]) }
        #expect(Self.steps(&order) == first + [.write(files[6]), .wait])
        // One has come: it is written after another begins.
        let received = Self.file(5, .rcvComplete, hours: 35)
        order.note(received.item, of: FileID(5), now: Self.start)
        #expect(Self.steps(&order) == [.receive(files[1]), .write(received), .wait])
    }

    @Test func limitsAndExpiryLeaveFilesOut() {
        let files = [
            Self.file(1, Self.offered, size: 101), Self.file(2, Self.offered, hours: -4),
            Self.file(3, .rcvCancelled), Self.file(4, .rcvInvitation(described: false)),
        ]
        var order = SavingOrder(files, limit: 100, now: Self.now)
        #expect(order.absent.count == 4 && Self.steps(&order) == [.end])
        #expect(order.absent[0].reason.contains("--receive-limit"))
        let none = SavingOrder([Self.file(5, Self.offered)], limit: 0, now: Self.now)
        #expect(none.absent.first?.reason.contains("phone-only") == true)
    }

    @Test func stalledAndFailedFilesEndTheWait() {
        let files = (1...3).map { Self.file($0, Self.offered) }
        var order = SavingOrder(files, limit: 100, now: Self.now)
        #expect(Self.steps(&order).last == .wait)
        order.note(
            Self.file(1, .rcvError(FileProblem(.expired, "Gone."))).item, of: FileID(1), now: Self.start)
        order.note(nil, of: FileID(2), now: Self.start)
        let moving = Self.file(3, .rcvTransfer(received: 1, total: 2)).item
        let late = Self.start + SavingOrder.timeout
        order.note(moving, of: FileID(3), now: late)
        #expect(order.awaited == [FileID(3)], "it has progressed")
        order.note(moving, of: FileID(3), now: late + SavingOrder.timeout)
        #expect(order.absent.map(\.reason).contains("Gone.") && order.absent.count == 3)
        #expect(Self.steps(&order) == [.end])
    }
}
