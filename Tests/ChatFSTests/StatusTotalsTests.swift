import FileSystem
import Foundation
import Testing

@testable import chatfs

/// Totals and rate of transfers.
@Suite struct StatusTotalsTests {
    private func transfers(_ rows: [(path: String, state: String, progress: Int, size: Int)]) throws
        -> [MountStatus.Transfer]
    {
        let objects = rows.map {
            #"{"path":"\#($0.path)","state":"\#($0.state)","progress":\#($0.progress),"size":\#($0.size)}"#
        }
        return try JSONDecoder().decode(
            [MountStatus.Transfer].self, from: Data("[\(objects.joined(separator: ","))]".utf8))
    }

    private func status(_ transfers: [MountStatus.Transfer]) throws -> MountStatus {
        let text = """
            {"profile":"ann","mountpoint":"/c","pid":1,"mountedAt":1,"controlFolder":"/d","chats":1,"entries":2,\
            "cachedBytes":0,"requests":0,"transfers":[]}
            """
        var status = try #require(MountStatus.decoded(Array(text.utf8)))
        status.transfers = transfers
        return status
    }

    @Test func totalsCountActiveAndStoppedTransfers() throws {
        let totals = StatusTotals(
            try status(
                try transfers([
                    ("a", "sending", 50, 1000), ("b", "queued", 0, 3000), ("c", "failed", 0, 9000),
                ])))
        #expect(totals.files == 2 && totals.waiting == 1)
        #expect(totals.line(rate: nil) == "2 transfers, 500 B of 4.0 kB (12 %)")
        #expect(totals.line(rate: 100) == "2 transfers, 500 B of 4.0 kB (12 %), 100 B/s, 36 s left")
        #expect(totals.line(rate: 0) == "2 transfers, 500 B of 4.0 kB (12 %), 0 B/s")
        #expect(StatusTotals(try status([])).line(rate: nil) == "no transfers")
    }

    @Test(arguments: [
        (59, "59 s"), (200, "3 min 20 s"), (18_120, "5 h 2 min"), (792_000, "9 d 4 h"),
    ])
    func remainingTimeHasTwoUnits(_ seconds: UInt64, _ text: String) {
        #expect(StatusTotals.time(seconds) == text)
    }

    @Test func overflowingSumsDoNotTrap() throws {
        let rows = try transfers([("a", "sending", 100, Int.max), ("b", "sending", 100, Int.max)])
        var status = try status(rows + rows)
        status.transfers[0].size = .max
        #expect(StatusTotals(status).line(rate: 1).hasPrefix("4 transfers"))
    }

    @Test func rateAveragesRecentSeconds() throws {
        var rate = TransferRate()
        #expect(rate.add(try transfers([("a", "sending", 10, 1000)]), at: .zero) == nil)
        #expect(rate.add(try transfers([("a", "sending", 30, 1000)]), at: .seconds(1)) == 200)
        #expect(rate.add(try transfers([("a", "sending", 30, 1000)]), at: .seconds(2)) == 100)
    }

    @Test func rateIncludesFinishedButNotStoppedTransfers() throws {
        var rate = TransferRate()
        _ = rate.add(try transfers([("a", "sending", 50, 1000), ("b", "receiving", 0, 1000)]), at: .zero)
        #expect(rate.add(try transfers([("b", "failed", 0, 1000)]), at: .seconds(1)) == 500)
    }

    @Test func rateForgetsOldStatuses() throws {
        var rate = TransferRate()
        _ = rate.add(try transfers([("a", "sending", 0, 1000)]), at: .zero)
        _ = rate.add(try transfers([("a", "sending", 100, 1000)]), at: .seconds(1))
        for second in 2...30 {
            _ = rate.add(try transfers([("a", "sending", 100, 1000)]), at: .seconds(second))
        }
        #expect(rate.add(try transfers([("a", "sending", 100, 1000)]), at: .seconds(31)) == 0)
    }
}
