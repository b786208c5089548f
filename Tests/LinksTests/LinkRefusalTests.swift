import Base
import ChatCore
import TestSupport
import Testing
import XFTP

@testable import Links

@Suite("Refusals of the folder of links")
struct LinkRefusalTests {
    private let stage: LinkStage
    private let links: LinkedCore

    init() throws {
        stage = try LinkStage()
        links = stage.open()
    }

    private func code(_ body: () async throws -> Void) async -> ChatErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ChatError)?.code
        }
    }

    private static let unknownItem = ItemID(ItemID.firstOfLinks.rawValue + 77)
    private static let unknownFile = FileID(FileID.firstOfLinks.rawValue + 77)

    /// A finished upload and its shortcut.
    private func uploaded() async throws -> (upload: ChatItem, shortcut: ChatItem) {
        let item = try await links.send(stage.message("a.bin", [1, 2, 3]), to: .links)
        let number = try await stage.upload()
        stage.core.hub.tell(.sndStandaloneFileComplete(number, links: [try LinkStage.link()]))
        try await wait(until: "its link is there") {
            try await links.items(of: .links, before: nil, count: 9).count == 2
        }
        let items = try await links.items(of: .links, before: nil, count: 9)
        return (
            try #require(items.first { $0.id == item.id }), try #require(items.first { $0.id != item.id })
        )
    }

    @Test("refuses unknown entries and files", arguments: [false, true])
    func unknown(isUsed: Bool) async throws {
        if isUsed { _ = try stage.store().add(stage.addition(1)) }
        let staged = try stage.message("x", [1]).source
        let (item, file) = (Self.unknownItem, Self.unknownFile)
        let deeds: [(String, ChatErrorCode, () async throws -> Void)] = [
            ("item", .noSuchItem, { _ = try await links.item(item, in: .links) }),
            ("preview", .noSuchItem, { _ = try await links.preview(of: item, in: .links) }),
            ("delete", .noSuchItem, { try await links.deleteItems([item], in: .links, mode: .internal) }),
            ("cancel", .noSuchFile, { try await links.cancelFile(file) }),
            ("claim", .noSuchFile, { _ = try await links.claimFile(file, approvedRelays: true) }),
            ("receive", .noSuchFile, { try await links.receiveFile(file, approvedRelays: true) }),
            ("set to receive", .noSuchFile, { try await links.setFileToReceive(file, approvedRelays: true) }),
            ("location", .noSuchFile, { _ = try await links.location(of: file) }),
            ("give up", .noSuchFile, { _ = try await links.giveUpCopy(of: file, at: staged) }),
            ("complete", .noSuchFile, { _ = try await links.completeClaim(file, staged: staged) }),
        ]
        for (name, expected, deed) in deeds { #expect(await code(deed) == expected, "\(name)") }
        #expect(
            try stage.folder.names(in: "staging").allSatisfy { $0 == "links-3" }, "the staged file is gone")
        await links.abandonClaim(file, problem: FileProblem(.damaged, "Nobody has it."))
        #expect(try await links.item(of: file) == nil)
        #expect(try await links.item(sentAs: "never", in: .links) == nil)
        #expect(try await links.itemCount() == (isUsed ? 6 : 5))
        #expect(
            try stage.folder.names(in: "profile").contains("links.sqlite") == isUsed,
            "nothing is made for that")
        await links.close()
    }

    @Test("an unknown entry keeps all others from removal")
    func allOrNone() async throws {
        let rows = try (1...3).map { try stage.store().add(stage.addition($0)) }
        for items in [
            [rows[0].item, Self.unknownItem], [Self.unknownItem, rows[0].item], [ItemID(1), rows[1].item],
        ] {
            #expect(
                await code { try await links.deleteItems(items, in: .links, mode: .internal) } == .noSuchItem)
        }
        #expect(try await stage.names(links) == ["link 1", "link 2", "link 3"])
        try await links.deleteItems([rows[0].item, rows[2].item], in: .links, mode: .internal)
        #expect(try await stage.names(links) == ["link 2"])
        #expect(
            await code { try await links.deleteItems([rows[0].item], in: .links, mode: .internal) }
                == .noSuchItem)
        await links.close()
    }

    @Test("the folder cannot be renamed, deleted or verified")
    func theFolderItself() async throws {
        for deed: () async throws -> Void in [
            { try await links.renameChat(.links, to: "x") }, { try await links.leaveChat(.links) },
            { try await links.deleteChat(.links) }, { try await links.renewKeys(of: .links) },
            { try await links.verify(.links, code: nil) },
            { try await links.requireVerification(of: .links, true) },
            { try await links.moveQueue(of: .links) },
        ] {
            #expect(await code(deed) == .invalidCommand)
        }
        #expect(try await links.security(of: .links) == nil)
        #expect(
            await code { try await links.send(ComposedText(id: "1", text: "x"), to: .links) }
                == .sendingRefused)
        #expect(await code { _ = try await links.messageLog(of: .links, from: 0, count: 1) } == .noSuchChat)
        #expect(try await links.chats().last?.reference == .links)
        #expect(try await links.chats().last?.actions == [.upload, .markRead, .mute, .approve])
        await links.close()
    }

    @Test("a shortcut cannot be cancelled, received or fetched")
    func shortcuts() async throws {
        let (upload, shortcut) = try await uploaded()
        let file = try #require(shortcut.file).id
        #expect(await code { try await links.cancelFile(file) } == .invalidCommand)
        #expect(await code { try await links.receiveFile(file, approvedRelays: true) } == .invalidCommand)
        #expect(await code { _ = try await links.claimFile(file, approvedRelays: true) } == .file(.damaged))
        let place = try #require(try await links.location(of: file))
        guard case .lost = try await links.giveUpCopy(of: file, at: place) else {
            Issue.record("there is another copy of a shortcut")
            return
        }
        #expect(try await links.preview(of: shortcut.id, in: .links).isEmpty)
        // It is removed with its upload and alone.
        try await links.deleteItems([upload.id], in: .links, mode: .internal)
        #expect(await code { _ = try await links.item(shortcut.id, in: .links) } == .noSuchItem)
        await links.close()
    }

    @Test("an upload is cancelled once")
    func cancelledOnce() async throws {
        let (upload, _) = try await uploaded()
        let file = try #require(upload.file).id
        try await links.cancelFile(file)
        #expect(await code { try await links.cancelFile(file) } == .invalidCommand)
        try await wait(until: "the relays are told") { !stage.core.state.withLock { $0.cancelled.isEmpty } }
        await links.close()
    }

    @Test("a failed claim removes the staged file")
    func stagedFiles() async throws {
        let row = try stage.store().add(stage.addition(1))
        let short = try stage.message("x", [1]).source
        #expect(await code { _ = try await links.completeClaim(row.file, staged: short) } == .file(.damaged))
        var plain = try stage.message("y", Array("hello".utf8)).source
        plain.arguments = nil
        #expect(await code { _ = try await links.completeClaim(row.file, staged: plain) } == .file(.damaged))
        #expect(try stage.folder.names(in: "staging").allSatisfy { $0 == "links-3" })
        #expect(stage.kept.isEmpty)
        await links.close()
    }

    @Test("one of two concurrent claims is kept")
    func completedTwice() async throws {
        let row = try stage.store().add(stage.addition(1))
        let staged = try (0..<2).map { _ in try stage.message("x", Array("hello".utf8)).source }
        let outcomes = await withTaskGroup(of: ChatErrorCode?.self) { group in
            for place in staged {
                group.addTask { [links] in
                    do throws(ChatError) {
                        _ = try await links.completeClaim(row.file, staged: place)
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == nil } == 1 && outcomes.contains(.noSuchFile))
        #expect(stage.kept.count == 1)
        #expect(try await links.item(row.item, in: .links).file?.status == .rcvComplete)
        await links.close()
    }
}
