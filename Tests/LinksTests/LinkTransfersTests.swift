import ChatCore
import Testing

@testable import Links

@Suite("Which transfers belong to which links")
struct LinkTransfersTests {
    private static func progress(_ file: Int64) -> ChatEvent {
        .standaloneFileProgress(FileID(file), done: 1, total: 2)
    }

    private static func files(_ events: [ChatEvent]) -> [Int64] {
        events.compactMap {
            if case .standaloneFileProgress(let file, _, _) = $0 { file.rawValue } else { nil }
        }
    }

    @Test("what is told of an upload before its number is known is not lost, nor taken from others")
    func early() {
        let transfers = LinkTransfers()
        transfers.begin()
        for file in [5, 6, 5] as [Int64] { #expect(transfers.row(of: Self.progress(file)) == nil) }
        #expect(Self.files(transfers.began(FileID(5), of: 1)) == [5, 5])
        #expect(transfers.row(of: Self.progress(5)) == 1 && transfers.row(of: Self.progress(6)) == nil)
        #expect(transfers.contains(FileID(5), of: 1) && !transfers.contains(FileID(5), of: 2))
    }

    @Test("of two that are begun at once each gets its own, whichever is known first")
    func two() {
        let transfers = LinkTransfers()
        transfers.begin()
        transfers.begin()
        for file in [7, 8] as [Int64] { #expect(transfers.row(of: Self.progress(file)) == nil) }
        #expect(Self.files(transfers.began(FileID(8), of: 2)) == [8])
        #expect(Self.files(transfers.began(FileID(7), of: 1)) == [7])
    }

    @Test("while none is being begun nothing is kept of transfers of others")
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

    @Test("one that was taken back is nobody's any more, and other events never were")
    func removed() {
        let transfers = LinkTransfers()
        transfers.begin()
        _ = transfers.began(FileID(3), of: 1)
        transfers.remove(FileID(3))
        #expect(transfers.row(of: Self.progress(3)) == nil && !transfers.contains(FileID(3), of: 1))
        #expect(transfers.row(of: .newChatItems([])) == nil)
    }
}
