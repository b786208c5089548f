import Base
import ChatCore
import Testing

@testable import chatfs

@Suite struct ItemSelectionTests {
    private func item(_ id: Int64, _ name: String, _ direction: ChatItem.Direction = .sent) -> ChatItem {
        ChatItem(
            id: ItemID(id), chat: .direct(1), direction: direction, sender: "alice",
            time: Timestamp(seconds: 1_800_000_000 + id), content: MessageContent(kind: .file),
            file: ChatFile(id: FileID(id), name: name, size: 1, status: .sndComplete, transport: .xftp))
    }

    private func selected(_ word: String, _ items: [ChatItem]) throws -> ChatItem? {
        var selection = ItemSelection(word)
        for item in items { selection.consider([item]) }
        return try selection.result(in: "bob")
    }

    @Test func safeNameSelectsFile() throws {
        let items = [item(1, "a.txt"), item(2, "../b.txt"), item(3, "")]
        #expect(try selected("a.txt", items)?.id == ItemID(1))
        #expect(try selected("b.txt", items)?.id == ItemID(2))
        #expect(try selected("../b.txt", items)?.id == ItemID(2))
        #expect(try selected("file-3", items)?.id == ItemID(3))
        #expect(try selected("c.txt", items) == nil)
    }

    @Test func equalNamesAreSelectedByNumber() throws {
        let items = [item(7, "a.txt"), item(9, "a.txt", .received), item(8, "b.txt")]
        let error = #expect(throws: ChatError.self) { try selected("a.txt", items) }
        #expect(
            error?.sentence
                == "2 files of bob are called a.txt: choose one by its number, 7 (sent 2027-01-15T08:00:07Z), "
                + "9 (received 2027-01-15T08:00:09Z).")
    }

    @Test func tenOfManyEqualNamesAreListed() throws {
        let error = #expect(throws: ChatError.self) {
            try selected("a.txt", (1...15).map { item($0, "a.txt") })
        }
        #expect(error?.sentence.hasSuffix("and 5 more.") == true, "\(error?.sentence ?? "")")
    }
}
