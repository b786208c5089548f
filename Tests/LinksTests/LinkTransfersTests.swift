import ChatCore
import Testing

@testable import Links

@Suite("Transfers of links")
struct LinkTransfersTests {
    private static func progress(_ file: Int64) -> ChatEvent {
        .standaloneFileProgress(FileID(file), done: 1, total: 2)
    }

    private static func files(_ events: [ChatEvent]) -> [Int64] {
        events.compactMap {
            if case .standaloneFileProgress(let file, _, _) = $0 { file.rawValue } else { nil }
        }
    }

    @Test("early events of an upload are kept")
    func early() {
        let transfers = LinkTransfers()
        transfers.begin()
        for file in [5, 6, 5] as [Int64] { #expect(transfers.row(of: Self.progress(file)) == nil) }
        #expect(Self.files(transfers.began(FileID(5), of: 1)) == [5, 5])
        #expect(transfers.row(of: Self.progress(5)) == 1 && transfers.row(of: Self.progress(6)) == nil)
        #expect(transfers.contains(FileID(5), of: 1) && !transfers.contains(FileID(5), of: 2))
    }

    @Test("concurrent uploads get their own events")
    func two() {
        let transfers = LinkTransfers()
        transfers.begin()
        transfers.begin()
        for file in [7, 8] as [Int64] { #expect(transfers.row(of: Self.progress(file)) == nil) }
        #expect(Self.files(transfers.began(FileID(8), of: 2)) == [8])
        #expect(Self.files(transfers.began(FileID(7), of: 1)) == [7])
    }

    @Test("foreign events are dropped without a starting upload")
    func others() {
        let transfers = LinkTransfers()
        #expect(transfers.row(of: Self.progress(9)) == nil)
        transfers.begin()
        #expect(Self.files(transfers.began(FileID(9), of: 1)) == [])
        transfers.begin()
        #expect(transfers.row(of: Self.progress(10)) == nil)
        transfers.failedToBegin()
        transfers.begin()
        #expect(Self.files(transfers.began(FileID(10), of: 2)) == [], "of an attempt that failed")
    }

    @Test("revoked uploads and other events have no row")
    func removed() {
        let transfers = LinkTransfers()
        transfers.begin()
        _ = transfers.began(FileID(3), of: 1)
        transfers.remove(FileID(3))
        #expect(transfers.row(of: Self.progress(3)) == nil && !transfers.contains(FileID(3), of: 1))
        #expect(transfers.row(of: .newChatItems([])) == nil)
    }
}
