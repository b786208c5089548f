import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

/// Files whose messages are deleted by their senders.
@Suite struct DeletedFileTests {
    private func send(
        _ name: String, _ kind: ChatContent.Kind, _ bytes: [UInt8], as id: SharedMessageID,
        _ stage: ToldStage,
        scope: GroupScope? = nil
    ) async throws {
        let file = FileInvitation(name: name, size: UInt64(bytes.count))
        try await stage.say(.message(NewMessage(ChatContent(kind), file: file, scope: scope)), as: id)
        for part in DescriptionPart.parts(of: stage.world.relay.put(bytes), limit: 15_000) {
            try await stage.say(.description(of: id, part))
        }
    }

    @Test func localFilesSurviveSendersDeletion() async throws {
        let stage = try await ToldStage()
        let ids = [SharedMessageID(from: SystemRandomSource()), SharedMessageID(from: SystemRandomSource())]
        try await send("here.jpg", .image(preview: ""), pattern(1000), as: ids[0], stage)
        try await send("remote.pdf", .file, pattern(1000), as: ids[1], stage)
        try await wait(until: "the picture is here") {
            try await stage.items.first { $0.file?.name == "here.jpg" }?.file?.status == .rcvComplete
        }
        for id in ids { try await stage.say(.deletion(id, author: nil)) }
        let item = try await wait(for: "the mark") {
            let items = try await stage.items
            return items.count == 1 && items[0].isDeletedBySender ? items[0] : nil
        }
        #expect(item.file?.status == .rcvComplete)
        #expect(try item.content() == pattern(1000))
        #expect(try await stage.lines.map(\.event) == ["message", "message", "deletion", "deletion"])
        // Later events do not affect it.
        try await stage.say(.fileCancelled(ids[0]))
        try await stage.say(.update(MessageUpdate(ids[0], content: ChatContent(.file, text: "new"))))
        #expect(try await stage.items == [item])
        // The reader can delete it.
        try await stage.core.deleteItems(
            [item.id], in: stage.core.chat(named: "bob"), mode: .internal)
        #expect(try await stage.items.isEmpty)
        await stage.core.shutDown()
    }

    @Test func filesForModeratorsAreMarked() async throws {
        let stage = try await ToldStage()
        for (name, scope) in [("all.pdf", nil), ("few.pdf", GroupScope(member: nil))] {
            try await send(
                name, .file, [1], as: SharedMessageID(from: SystemRandomSource()), stage, scope: scope)
        }
        let marked = try await stage.items.filter(\.isForModerators).compactMap(\.file?.name)
        #expect(marked == ["few.pdf"])
        await stage.core.shutDown()
    }
}
