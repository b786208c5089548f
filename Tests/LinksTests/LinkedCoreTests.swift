import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Links

@Suite("The folder of links of a core")
struct LinkedCoreTests {
    private let stage: LinkStage
    private var core: ManualCore { stage.core }
    private var folder: TemporaryFolder { stage.folder }

    init() throws { stage = try LinkStage() }

    @Test("without links there is no database")
    func unused() async throws {
        let links = stage.open()
        #expect(try await links.chats().map(\.reference) == [.direct(1), .links])
        #expect(try await links.items(of: .links, before: nil, count: 10).isEmpty)
        #expect(try await links.itemCount() == 5)
        #expect(try await links.unsettledItems().isEmpty)
        await #expect(throws: ChatError.self) { try await links.item(.firstOfLinks, in: .links) }
        await #expect(throws: ChatError.self) {
            try await links.deleteItems([.firstOfLinks], in: .links, mode: .internal)
        }
        await links.close()
        #expect(access(folder.path("profile/links.sqlite"), F_OK) != 0)
    }

    @Test("an upload gets a link and a shortcut")
    func uploaded() async throws {
        let links = stage.open()
        let events = links.events()
        let sent = try await links.send(try stage.message("ä b.bin", [1, 2, 3]), to: .links)
        #expect(sent.file?.status == .sndStored && sent.direction == .sent && sent.id.isOfLink)
        let file = try await stage.upload("ä b.bin")
        core.hub.tell(.standaloneFileProgress(file, done: 1, total: 2))
        core.hub.tell(.sndStandaloneFileComplete(file, links: [FileLink(try LinkStage.description()).text]))
        try await wait(until: "it has a link") {
            try await links.item(sent.id, in: .links).file?.link != nil
        }
        let item = try await links.item(sent.id, in: .links)
        #expect(item.file?.status == .sndComplete && item.file?.expires != nil)
        let facts = LinkFacts(try FileLink(parsing: item.file?.link ?? "").data)
        #expect(
            facts.name == "ä b.bin" && facts.size == 3
                && facts.expires?.seconds == item.file?.expires?.seconds)
        #expect(try await stage.names(links) == ["ä b.bin", "ä b.bin.url"])
        let shortcut = try #require(try await links.items(of: .links, before: nil, count: 1).first)
        let source = try #require(shortcut.file?.source)
        try CryptoFile.decrypt(
            from: source.path, to: folder.path("url"), arguments: try #require(source.arguments))
        let text = String(decoding: try folder.read("url"), as: UTF8.self)
        #expect(text == "[InternetShortcut]\r\nURL=\(item.file?.link ?? "")\r\n")
        #expect(shortcut.file?.link == nil && shortcut.file?.size == UInt64(text.utf8.count))
        var told: [String] = []
        for await event in events {
            if case .itemChanged(let item, .started) = event {
                #expect(item.file?.status == .sndTransfer(sent: 1, total: 2))
                told.append("start")
            }
            if case .fileProgress(let progress) = event {
                #expect(progress.item == sent.id && progress.done == 1 && progress.total == 2)
                told.append("progress")
            }
            if case .itemChanged(_, .completed) = event { told.append("complete") }
            if case .newChatItems(let items) = event, items.first?.id == shortcut.id { break }
        }
        #expect(told == ["start", "progress", "complete"])
        await links.close()
    }

    @Test(
        "an upload may end before its number is known",
        arguments: [true, false])
    func early(byEvent: Bool) async throws {
        let link = FileLink(try LinkStage.description()).text
        core.state.withLock { [core] state in
            state.whenAsked = { file in
                if byEvent {
                    core.hub.tell(.sndStandaloneFileComplete(file, links: [link]))
                } else {
                    core.state.withLock { $0.outcomes[file] = .link(link) }
                }
            }
        }
        let links = stage.open()
        let sent = try await links.send(try stage.message("a.bin", [1]), to: .links)
        try await wait(until: "it has a link") {
            try await links.item(sent.id, in: .links).file?.link != nil
        }
        #expect(try await stage.names(links) == ["a.bin", "a.bin.url"])
        await links.close()
    }

    @Test("a crash at any step leaves one upload")
    func once() async throws {
        let first = stage.open()
        let composed = try stage.message("a.bin", [1, 2], id: "mark")
        let sent = try await first.send(composed, to: .links)
        #expect(access(composed.source.path, F_OK) != 0)
        #expect(try await first.send(composed, to: .links).id == sent.id)
        let file = try await stage.upload()
        await first.close()
        // Unnamed files are removed, needed files stay.
        try folder.write([1], to: "staging/links-3/left behind")
        let second = stage.open()
        #expect(try await second.send(composed, to: .links).id == sent.id)
        core.hub.tell(.sndStandaloneFileComplete(file, links: ["nonsense"]))
        core.state.withLock { $0.outcomes[file] = .link(FileLink((try? LinkStage.description())!).text) }
        await second.close()
        let third = stage.open()
        try await wait(until: "it has a link") {
            try await third.item(sent.id, in: .links).file?.link != nil
        }
        #expect(core.uploads.count == 1 && core.state.withLock { $0.names } == ["a.bin"])
        #expect(try await third.itemCount() == 7)
        #expect(stage.kept.count == 2)
        await third.close()
    }

    @Test("temporary refusals are reported and retried")
    func refused() async throws {
        core.state.withLock { $0.refusal = ChatError(.file(.noRelay), "No relay is configured.") }
        let links = stage.open()
        let sent = try await links.send(try stage.message("a.bin", [1]), to: .links)
        try await wait(until: "it says why") {
            let status = try await links.item(sent.id, in: .links).file?.status
            return status == .sndWarning(FileProblem(.noRelay, "No relay is configured."))
        }
        #expect(try await links.unsettledItems().map(\.id) == [sent.id])
        core.state.withLock { $0.refusal = nil }
        let file = try await stage.upload()
        core.hub.tell(.sndStandaloneFileError(file, FileProblem(.other, "Broken.")))
        try await wait(until: "it has failed") {
            try await links.item(sent.id, in: .links).file?.status
                == .sndError(FileProblem(.other, "Broken."))
        }
        await links.close()
    }

    @Test("removed uploads are revoked, also by a later process")
    func removed() async throws {
        let links = stage.open()
        let sent = try await links.send(try stage.message("a.bin", [1]), to: .links)
        let file = try await stage.upload()
        core.hub.tell(.sndStandaloneFileComplete(file, links: [FileLink(try LinkStage.description()).text]))
        try await wait(until: "it has a shortcut") { try await stage.names(links).count == 2 }
        core.state.withLock { $0.refusal = ChatError(.file(.unreachable), "Away.") }
        try await links.deleteItems([sent.id], in: .links, mode: .internal)
        #expect(try await stage.names(links).isEmpty)
        await #expect(throws: ChatError.self) { try await links.location(of: sent.file!.id) }
        await links.close()
        core.state.withLock { $0.refusal = nil }
        let next = stage.open()
        try await wait(until: "it is taken back") { core.state.withLock { $0.cancelled } == [file] }
        try await wait(until: "no file is left") { stage.kept.isEmpty }
        await next.close()
    }

    @Test("a revoked upload keeps its entry")
    func cancelled() async throws {
        let links = stage.open()
        let sent = try await links.send(try stage.message("a.bin", [1]), to: .links)
        let file = try await stage.upload()
        core.hub.tell(.sndStandaloneFileComplete(file, links: [FileLink(try LinkStage.description()).text]))
        try await wait(until: "it has a shortcut") { try await stage.names(links).count == 2 }
        try await links.cancelFile(try #require(sent.file).id)
        let item = try await links.item(sent.id, in: .links)
        #expect(item.file?.status == .sndCancelled && item.file?.link == nil)
        #expect(try await stage.names(links) == ["a.bin"])
        try await wait(until: "it is taken back") { core.state.withLock { $0.cancelled } == [file] }
        await #expect(throws: ChatError.self) { try await links.cancelFile(sent.file!.id) }
        await links.close()
    }

    @Test("a plain copy exists only during its upload")
    func plain() async throws {
        let plain = ManualCore(stagingFolder: core.stagingFolder, uploadsCryptoFiles: false)
        let first = stage.open(plain)
        let sent = try await first.send(try stage.message("a b.bin", [1, 2, 3]), to: .links)
        let path = try await wait(for: "it is uploaded") { plain.uploads.values.first }
        #expect(path.hasSuffix("/a b.bin"))
        #expect(try OpenFile(path, flags: O_RDONLY).readAll(limit: 10) == [1, 2, 3])
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o077 == 0)
        await first.close()
        // It starts again, and the earlier one is revoked.
        let second = stage.open(plain)
        let earlier = FileID(8)
        try await wait(until: "the earlier one is taken back") {
            plain.state.withLock { $0.cancelled == [earlier] && $0.uploads.count == 1 }
        }
        let file = try #require(plain.uploads.keys.first)
        plain.hub.tell(.sndStandaloneFileComplete(file, links: [FileLink(try LinkStage.description()).text]))
        try await wait(until: "it has a link") {
            try await second.item(sent.id, in: .links).file?.link != nil
        }
        try await wait(until: "the plain copy is gone") { stage.kept.allSatisfy { !$0.hasPrefix("plain") } }
        await second.close()
    }

    @Test(
        "an added link is offered, received, lost and added again"
    )
    func added() async throws {
        let links = stage.open()
        var link = FileLink(try LinkStage.description())
        link.data = LinkFacts(name: "a.txt", size: 5, expires: Timestamp(seconds: 4_000_000_000)).text
        core.state.withLock { $0.unapproved = true }
        let item = try await links.addLink(link.text, named: nil, approvingRelays: false)
        let file = try #require(item.file)
        #expect(file.name == "a.txt" && file.size == 5 && file.status == .rcvInvitation(described: true))
        #expect(item.direction == .received && file.expires?.seconds == 4_000_000_000)
        #expect(try await links.addLink(link.text, named: "b", approvingRelays: false).id == item.id)
        await #expect(throws: ChatError.self) { try await links.claimFile(file.id, approvedRelays: false) }
        core.state.withLock { $0.unapproved = false }
        let claim = try #require(try await links.claimFile(file.id, approvedRelays: false))
        #expect(try FileDescription(parsing: claim.description) == LinkStage.description())
        await #expect(throws: ChatError.self) { try await links.claimFile(file.id, approvedRelays: false) }
        let staged = try stage.message("x", Array("hello".utf8)).source
        let place = try await links.completeClaim(file.id, staged: staged)
        #expect(access(staged.path, F_OK) != 0 && access(place.path, F_OK) == 0)
        #expect(try await links.item(item.id, in: .links).file?.source == place)
        // Damaged, it is offered again; unavailable, it is lost.
        guard case .offered(let again) = try await links.giveUpCopy(of: file.id, at: place) else {
            Issue.record("it is not offered again")
            return
        }
        #expect(again.file?.status == .rcvInvitation(described: true) && again.file?.source == nil)
        _ = try await links.claimFile(file.id, approvedRelays: false)
        let expired = FileProblem(.expired, "Gone.")
        await links.abandonClaim(file.id, problem: expired)
        #expect(try await links.item(item.id, in: .links).file?.status == .rcvError(expired))
        await #expect(throws: ChatError.self) { try await links.claimFile(file.id, approvedRelays: false) }
        let renewed = try await links.addLink(link.text, named: "b.txt", approvingRelays: false)
        #expect(renewed.id != item.id && renewed.file?.name == "b.txt")
        #expect(try await stage.names(links) == ["b.txt"])
        try await links.deleteItems([renewed.id], in: .links, mode: .internal)
        #expect(try await stage.names(links).isEmpty && stage.kept.isEmpty)
        await links.close()
    }

    @Test("contradicting and unapproved links add nothing")
    func hostile() async throws {
        let links = stage.open()
        core.state.withLock { $0.unapproved = true }
        var sender = try LinkStage.description()
        sender.party = .sender
        var redirect = try LinkStage.description()
        redirect.redirect = .init(size: 1 << 20, digest: redirect.digest)
        let small = LinkFacts(name: "a", size: 60_000 + 6_000, expires: nil).text
        for (link, code) in [
            (FileLink(sender), ChatErrorCode.file(.damaged)), (FileLink(redirect), .file(.notApproved)),
            (FileLink(try LinkStage.description()), .file(.notApproved)),
            (FileLink(try LinkStage.description(), data: small), .file(.damaged)),
        ] {
            let error = await #expect(throws: ChatError.self) {
                try await links.addLink(link.text, named: nil, approvingRelays: false)
            }
            #expect(error?.code == code, "\(error?.sentence ?? "")")
        }
        #expect(try await stage.names(links).isEmpty)
        await links.close()
    }
}
