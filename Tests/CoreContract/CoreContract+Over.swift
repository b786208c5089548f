import Base
import ChatCore

/// Objects that are elsewhere, finished, or gone.
extension CoreContract {
    /// Items are numbered over all chats: a command must not reach an item of another chat.
    func othersItems() async -> [String] {
        let item = cast.offered.id
        var violations = await violations(
            "an item of another chat",
            [
                ("item", .noSuchItem, { _ = try await core.item(item, in: cast.other) }),
                ("preview", .noSuchItem, { _ = try await core.preview(of: item, in: cast.other) }),
                (
                    "deleteItems", .noSuchItem,
                    { try await core.deleteItems([item], in: cast.other, mode: .internal) }
                ),
                (
                    "deleteItems for everyone", .noSuchItem,
                    { try await core.deleteItems([cast.sent.id], in: cast.other, mode: .broadcast) }
                ),
            ])
        violations += await self.violations(
            "somebody else's message",
            [
                (
                    "deleteItems for everyone", .invalidCommand,
                    { try await core.deleteItems([item], in: cast.chat, mode: .broadcast) }
                ),
                (
                    "deleteItems for everyone beside an own one", .invalidCommand,
                    { try await core.deleteItems([cast.sent.id, item], in: cast.chat, mode: .broadcast) }
                ),
            ])
        for item in [cast.offered, cast.sent] {
            violations += expect(await has(item), "an item was deleted by a command that was refused")
        }
        let sent = try? await core.item(cast.sent.id, in: cast.chat)
        return violations
            + expect(sent?.file?.status != .sndCancelled, "a refused deletion took the file from its relay")
    }

    func overTransfers() async throws -> [String] {
        var violations: [String] = []
        if let file = cast.sent.file?.id {
            violations += await self.violations(
                "an own file",
                receiving(file, .noSuchFile) + [
                    ("cancelStandaloneFile", .noSuchFile, { try await core.cancelStandaloneFile(file) })
                ])
            try await core.cancelFile(file)
            let now = try await core.item(of: file)
            violations += expect(now?.file?.status == .sndCancelled, "an own file that was cancelled is not")
            violations += await self.violations(
                "an own cancelled file",
                [
                    ("cancelFile", .invalidCommand, { try await core.cancelFile(file) })
                ])
        }
        if let file = cast.cancelled?.file?.id {
            violations += await self.violations(
                "a file that its sender cancelled",
                receiving(file, .file(.cancelledBySender)) + [
                    ("cancelFile", .invalidCommand, { try await core.cancelFile(file) })
                ])
        }
        if let file = cast.complete.file?.id {
            violations += await self.violations(
                "a received file",
                [
                    ("cancelFile", .invalidCommand, { try await core.cancelFile(file) }),
                    ("cancelStandaloneFile", .noSuchFile, { try await core.cancelStandaloneFile(file) }),
                ])
            violations += try await toldOnceMore(file)
        }
        return violations
    }

    /// A request for a received file gets an event, as if the file had just arrived.
    private func toldOnceMore(_ file: FileID) async throws -> [String] {
        let events = core.events()
        try await core.receiveFile(file, approvedRelays: false)
        try await core.setFileToReceive(file, approvedRelays: false)
        // After the events: no command is as fast as its events.
        try await core.renameChat(cast.chat, to: "told once more")
        var told = 0
        for await event in events {
            if case .itemChanged(let item, .completed) = event, item.file?.id == file { told += 1 }
            if case .chatUpdated(let chat) = event, chat.displayName == "told once more" { break }
        }
        return expect(told == 2, "that a file has come was told \(told) times to two who asked")
    }

    func removed() async throws -> [String] {
        let (item, chat) = (cast.sent.id, cast.chat)
        let message = try compose("deleted after it was sent")
        let deleted = try await core.send(message, to: chat)
        try await core.deleteItems([deleted.id], in: chat, mode: .internal)
        try await core.deleteItems([item], in: chat, mode: .internal)
        var violations: [String] = []
        for item in [item, deleted.id] {
            violations += await self.violations(
                "a deleted item",
                [
                    ("item", .noSuchItem, { _ = try await core.item(item, in: chat) }),
                    ("preview", .noSuchItem, { _ = try await core.preview(of: item, in: chat) }),
                    (
                        "deleteItems", .noSuchItem,
                        { try await core.deleteItems([item], in: chat, mode: .internal) }
                    ),
                    (
                        "deleteItems for everyone", .noSuchItem,
                        { try await core.deleteItems([item], in: chat, mode: .broadcast) }
                    ),
                ])
        }
        let sentAs = try await core.item(sentAs: message.id, in: chat)
        violations += expect(sentAs == nil, "a deleted message is still the item that it became")
        guard let file = deleted.file?.id else { return violations + ["a sent item has no file"] }
        violations += await self.violations(
            "the file of a deleted item",
            receiving(file, .noSuchFile) + [
                ("cancelFile", .noSuchFile, { try await core.cancelFile(file) })
            ])
        let found = try await core.item(of: file)
        return violations + expect(found == nil, "the file of a deleted item still has one")
    }

    func removedChat() async throws -> [String] {
        let chat = cast.other
        try await core.deleteChat(chat)
        let isListed = try await core.chats().contains { $0.reference == chat }
        return await violations(
            "a deleted chat",
            [
                ("items", .noSuchChat, { _ = try await core.items(of: chat, before: nil, count: 9) }),
                ("item", .noSuchChat, { _ = try await core.item(Self.unknownItem, in: chat) }),
                ("renameChat", .noSuchChat, { try await core.renameChat(chat, to: "gone") }),
                ("leaveChat", .noSuchChat, { try await core.leaveChat(chat) }),
                ("deleteChat", .noSuchChat, { try await core.deleteChat(chat) }),
                (
                    "send", .noSuchChat,
                    { _ = try await core.send(try compose("to a deleted chat"), to: chat) }
                ),
            ]) + expect(!isListed, "a deleted chat is listed")
    }
}
