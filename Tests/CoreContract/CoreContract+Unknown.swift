import Base
import ChatCore

/// Objects that never existed.
extension CoreContract {
    func unknownChats() async throws -> [String] {
        var violations: [String] = []
        for chat in Self.unknownChats {
            let subject = "an unknown chat \(chat)"
            violations += await self.violations(subject, reading(chat))
            violations += try await sending(to: chat, subject)
            violations += await self.violations(subject, managing(chat))
        }
        violations += await self.violations(
            "the offered item, said to be in an unknown chat",
            [
                (
                    "item", .noSuchChat,
                    { _ = try await core.item(cast.offered.id, in: .direct(Self.unknown)) }
                ),
                (
                    "preview", .noSuchChat,
                    { _ = try await core.preview(of: cast.offered.id, in: .direct(Self.unknown)) }
                ),
                (
                    "deleteItems", .noSuchChat,
                    {
                        try await core.deleteItems(
                            [cast.offered.id], in: .direct(Self.unknown), mode: .internal)
                    }
                ),
            ])
        return violations + expect(await has(cast.offered), "an item went by a command about an unknown chat")
    }

    private func reading(_ chat: ChatReference) -> [Deed] {
        [
            ("items", .noSuchChat, { _ = try await core.items(of: chat, before: nil, count: 9) }),
            (
                "items before", .noSuchChat,
                { _ = try await core.items(of: chat, before: ItemID(1), count: 0) }
            ),
            ("item", .noSuchChat, { _ = try await core.item(Self.unknownItem, in: chat) }),
            ("preview", .noSuchChat, { _ = try await core.preview(of: Self.unknownItem, in: chat) }),
            ("messageLog", .noSuchChat, { _ = try await core.messageLog(of: chat, from: 0, count: 9) }),
            ("security", .noSuchChat, { _ = try await core.security(of: chat) }),
        ]
    }

    /// A refused file stays where it was staged, and the core has nothing of it.
    private func sending(to chat: ChatReference, _ subject: String) async throws -> [String] {
        let mark = "to unknown \(chat.description.hashValue)"
        let message = try compose(mark)
        var violations = await violations(
            subject,
            [
                ("send", .noSuchChat, { _ = try await core.send(message, to: chat) }),
                (
                    "send a text", .noSuchChat,
                    { try await core.send(ComposedText(id: "text \(mark)", text: "hello"), to: chat) }
                ),
                (
                    "deleteItems of nothing", .noSuchChat,
                    { try await core.deleteItems([], in: chat, mode: .internal) }
                ),
                (
                    "deleteItems", .noSuchChat,
                    { try await core.deleteItems([Self.unknownItem], in: chat, mode: .internal) }
                ),
            ])
        violations += expect(isThere(message.source.path), "the file that \(subject) refused is gone")
        let item = try await core.item(sentAs: message.id, in: chat)
        return violations + expect(item == nil, "what \(subject) refused was sent")
    }

    private func managing(_ chat: ChatReference) -> [Deed] {
        // There is one folder of notes, which cannot be changed under any number.
        let code: ChatErrorCode = if case .notes = chat { .invalidCommand } else { .noSuchChat }
        return [
            ("renameChat", code, { try await core.renameChat(chat, to: "another name") }),
            ("leaveChat", code, { try await core.leaveChat(chat) }),
            ("deleteChat", code, { try await core.deleteChat(chat) }),
            ("verify", .noSuchChat, { try await core.verify(chat, code: "1") }),
            ("renewKeys", .noSuchChat, { try await core.renewKeys(of: chat) }),
        ]
    }

    func unknownItems() async -> [String] {
        let (chat, item) = (cast.chat, Self.unknownItem)
        let violations = await violations(
            "an unknown item",
            [
                ("item", .noSuchItem, { _ = try await core.item(item, in: chat) }),
                ("preview", .noSuchItem, { _ = try await core.preview(of: item, in: chat) }),
                (
                    "deleteItems", .noSuchItem,
                    { try await core.deleteItems([item], in: chat, mode: .internal) }
                ),
                (
                    "deleteItems beside a known one", .noSuchItem,
                    { try await core.deleteItems([cast.offered.id, item], in: chat, mode: .internal) }
                ),
                (
                    "deleteItems beside a known one for everyone", .noSuchItem,
                    { try await core.deleteItems([cast.sent.id, item], in: chat, mode: .broadcast) }
                ),
            ])
        let (hasOffered, hasSent) = (await has(cast.offered), await has(cast.sent))
        return violations
            + expect(hasOffered && hasSent, "of several items one was deleted, not all or none")
    }

    func unknownFiles() async throws -> [String] {
        let file = Self.unknownFile
        let staged = try compose("to complete an unknown claim").source
        var violations = await violations(
            "an unknown file",
            receiving(file, .noSuchFile) + [
                ("cancelFile", .noSuchFile, { try await core.cancelFile(file) }),
                ("completeClaim", .noSuchFile, { _ = try await core.completeClaim(file, staged: staged) }),
                ("giveUpCopy", .noSuchFile, { _ = try await core.giveUpCopy(of: file, at: staged) }),
                ("cancelStandaloneFile", .noSuchFile, { try await core.cancelStandaloneFile(file) }),
            ])
        violations += expect(!isThere(staged.path), "the staged file of a claim that failed is still there")
        await core.abandonClaim(file, problem: FileProblem(.damaged, "Nobody is told."))
        let item = try await core.item(of: file)
        return violations + expect(item == nil, "an unknown file has an item")
    }

    func receiving(_ file: FileID, _ code: ChatErrorCode) -> [Deed] {
        [
            ("receiveFile", code, { try await core.receiveFile(file, approvedRelays: true) }),
            ("setFileToReceive", code, { try await core.setFileToReceive(file, approvedRelays: true) }),
            ("claimFile", code, { _ = try await core.claimFile(file, approvedRelays: true) }),
        ]
    }

    func unknownPeople() async throws -> [String] {
        let violations = await violations(
            "an unknown request",
            [
                ("acceptRequest", .invalidCommand, { _ = try await core.acceptRequest(Self.unknown) }),
                ("rejectRequest", .invalidCommand, { try await core.rejectRequest(Self.unknown) }),
            ])
        let contact = try await core.contact(of: Self.unknown)
        let item = try await core.item(sentAs: "never sent", in: cast.chat)
        return violations + expect(contact == nil, "an unknown connection became a contact")
            + expect(item == nil, "a message that was never sent is an item")
    }
}
