import Base
import Testing

@testable import ChatCore

/// Deletion for everyone, and transfers still under way.
@Suite struct ItemDeletingTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private func item(
        _ direction: ChatItem.Direction = .sent, in chat: ChatReference = .direct(1), age: Duration = .zero,
        status: FileStatus = .sndComplete, _ transport: ChatFile.Transport = .xftp
    ) -> ChatItem {
        ChatItem(
            id: ItemID(1), chat: chat, direction: direction, sender: "alice",
            time: Self.now.advanced(by: .zero - age), content: MessageContent(kind: .file),
            file: ChatFile(id: FileID(1), name: "a.txt", size: 1, status: status, transport: transport))
    }

    @Test func ownRecentMessagesCanBeDeletedForEveryone() {
        let day = Duration.seconds(24 * 3600)
        #expect(item(age: day).refusesDeletionForEveryone(at: Self.now) == nil)
        #expect(
            item(age: day + .seconds(1)).refusesDeletionForEveryone(at: Self.now)
                == "Only messages of the last 24 hours can be deleted for everyone.")
        #expect(
            item(.received).refusesDeletionForEveryone(at: Self.now)
                == "Only your own messages can be deleted for everyone.")
    }

    @Test func notesAndLinksAreDeletedLocally() {
        for chat in [ChatReference.notes(1), .links] {
            #expect(
                item(.received, in: chat, age: .seconds(1 << 30)).refusesDeletionForEveryone(at: Self.now)
                    == nil)
        }
    }

    @Test func onlyUnfinishedUploadsAreBeingSent() {
        #expect(item(status: .sndTransfer(sent: 1, total: 2)).isBeingSent)
        #expect(item(status: .sndStored).isBeingSent)
        #expect(!item(status: .sndStored, .local).isBeingSent)
        #expect(!item(status: .sndCancelled).isBeingSent)
        #expect(!item().isBeingSent)
    }
}
