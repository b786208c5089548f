import Base
import ChatCore
import TestSupport
import Testing

@testable import Links

@Suite("Calls passed to the core beneath")
struct LinkPassingTests {
    private func code(_ body: () async throws -> Void) async -> ChatErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ChatError)?.code
        }
    }

    @Test("other chats and files belong to the core")
    func commands() async throws {
        let stage = try LinkStage()
        let links = stage.open()
        #expect(links.profile == stage.core.profile && links.stagingFolder == stage.core.stagingFolder)
        #expect(links.limits.maxFileSize == 1000 && links.uploadsCryptoFiles && !links.receivesWhatIsClaimed)
        #expect(await code { _ = try await links.item(ItemID(1), in: .direct(1)) } == .noSuchItem)
        #expect(await code { _ = try await links.preview(of: ItemID(1), in: .direct(1)) } == .noSuchItem)
        #expect(await code { _ = try await links.standaloneFileInfo("x") } == .noSuchFile)
        #expect(await code { try await links.renameChat(.direct(1), to: "x") } == .invalidCommand)
        #expect(
            await code { try await links.send(ComposedText(id: "1", text: "x"), to: .direct(1)) }
                == .sendingRefused)
        #expect(await code { _ = try await links.item(sentAs: "x", in: .direct(1)) } == .sendingUnsure)
        let message = try stage.message("a", [1])
        #expect(await code { _ = try await links.send(message, to: .direct(1)) } == .noSuchChat)
        let answers = await links.send([message, message], to: .direct(1))
        #expect(answers.count == 2)
        #expect(try await links.items(of: .direct(1), before: nil, count: 9).isEmpty)
        #expect(try await links.item(of: FileID(7)) == nil)
        #expect(try await links.location(of: FileID(7)) == nil)
        #expect(try await links.claimFile(FileID(7), approvedRelays: true) == nil)
        #expect(try await links.completeClaim(FileID(7), staged: message.source) == message.source)
        try await links.cancelFile(FileID(7))
        try await links.receiveFile(FileID(7), approvedRelays: true)
        try await links.setFileToReceive(FileID(7), approvedRelays: true)
        try await links.deleteItems([ItemID(1)], in: .direct(1), mode: .broadcast)
        links.noteOpened(ItemID(1), in: .direct(1))
        links.expectToSend(9)
        #expect(links.streamForm(for: .direct(1), name: "a")?.header(0) == [7])
        #expect(
            links.streamForm(for: .links, name: "a")?.header(0) == nil,
            "its files have names in their headers")
        await links.relaysWereApproved()
        #expect(stage.kept.isEmpty)
        await links.close()
    }

    @Test("contacts belong to the core")
    func people() async throws {
        let stage = try LinkStage()
        let links = stage.open()
        for deed: () async throws -> Void in [
            { _ = try await links.invite() }, { _ = try await links.accept("x") },
            { _ = try await links.contact(of: 1) }, { _ = try await links.security(of: .direct(1)) },
            { try await links.verify(.direct(1), code: nil) },
            { try await links.requireVerification(of: .direct(1), true) },
            { _ = try await links.connections(after: 0, count: 1) },
            { try await links.deleteConnection(1) },
            { try await links.renewKeys(of: .direct(1)) }, { _ = try await links.createAddress(.ask) },
            { _ = try await links.address() }, { try await links.deleteAddress() },
            { _ = try await links.requests() }, { _ = try await links.acceptRequest(1) },
            { try await links.rejectRequest(1) }, { try await links.leaveChat(.direct(1)) },
            { try await links.deleteChat(.group(1)) },
        ] {
            #expect(await code(deed) == .invalidCommand)
        }
        await links.close()
    }

    @Test("other uploads without a chat get no link entry")
    func standalone() async throws {
        let stage = try LinkStage()
        let links = stage.open()
        let source = try stage.message("a", [1]).source
        let file = try await links.uploadStandaloneFile(source, named: "a")
        let other = try await links.uploadStandaloneFile(source.path + "2")
        #expect(file != other)
        stage.core.hub.tell(.sndStandaloneFileComplete(file, links: [try LinkStage.link()]))
        #expect(try await links.outcomeOfStandaloneUpload(file) == nil)
        #expect(try await links.downloadStandaloneFile("x", to: "/y") == FileID(1))
        try await links.cancelStandaloneFile(other)
        #expect(await code { try await links.cancelStandaloneFile(other) } == .noSuchFile)
        #expect(try await stage.names(links).isEmpty)
        await links.close()
    }

    @Test("listeners get events of core and links")
    func events() async throws {
        let stage = try LinkStage()
        let links = stage.open()
        let heard = Lock<[[String]]>([[], []])
        let tasks = (0..<2).map { index in
            let events = links.events()
            return Task {
                for await event in events {
                    let name = if case .itemChanged(_, let cause) = event { "\(cause)" } else { "\(event)" }
                    heard.withLock { $0[index].append(String(name.prefix { $0 != "(" })) }
                }
            }
        }
        stage.core.hub.tell(.coreReachable)
        let item = try await links.send(stage.message("a.bin", [1]), to: .links)
        let number = try await stage.upload()
        stage.core.hub.tell(.sndStandaloneFileError(number, FileProblem(.tooLarge, "Too large.")))
        try await wait(until: "both hear that it failed") {
            heard.withLock { $0.allSatisfy { $0.contains("failed") && $0.contains("coreReachable") } }
        }
        try await links.deleteItems([item.id], in: .links, mode: .internal)
        try await wait(until: "both hear that it is gone") {
            heard.withLock { $0.allSatisfy { $0.contains("chatItemsDeleted") } }
        }
        stage.core.hub.close()
        for task in tasks { await task.value }
        await links.close()
    }

    @Test("each message into the folder gets its own result")
    func several() async throws {
        let stage = try LinkStage()
        let links = stage.open()
        var broken = try stage.message("b.bin", [1, 2])
        broken.size = 9
        let messages = [try stage.message("a.bin", [1]), broken, try stage.message("c.bin", [3])]
        let answers = await links.send(messages, to: .links)
        #expect(answers.map { (try? $0.get())?.file?.name } == ["a.bin", nil, "c.bin"])
        guard case .failure(let error) = answers[1] else { return }
        #expect(error.code == .file(.damaged))
        #expect(
            try stage.folder.names(in: "staging").count == 2, "what was refused stays where it was staged")
        #expect(try await stage.names(links) == ["a.bin", "c.bin"])
        await links.close()
    }

    @Test("pages list newest first and may be empty")
    func pages() async throws {
        let stage = try LinkStage()
        let links = stage.open()
        let rows = try (1...7).map { try stage.store().add(stage.addition($0)) }
        var (seen, before): ([ItemID], ItemID?) = ([], nil)
        while true {
            let page = try await links.items(of: .links, before: before, count: 3)
            guard let last = page.last else { break }
            seen += page.map(\.id)
            before = last.id
        }
        #expect(seen == rows.map(\.item).reversed())
        for count in [0, -1, .min] {
            #expect(try await links.items(of: .links, before: nil, count: count).isEmpty)
        }
        #expect(try await links.items(of: .links, before: rows[0].item, count: 9).isEmpty)
        #expect(try await links.items(of: .links, before: ItemID(1), count: 9).isEmpty, "no number of a link")
        #expect(try await links.itemCount() == 12)
        await links.close()
    }
}
