import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Links

@Suite("Uploads for links during changes of the core")
struct LinkUploadsTests {
    private let stage: LinkStage
    private var core: ManualCore { stage.core }

    init() throws { stage = try LinkStage() }

    private var cancelled: [FileID] { core.state.withLock { $0.cancelled } }

    /// The items that a listener knows at the core's close.
    private func shown(_ events: AsyncStream<ChatEvent>, from items: Set<ItemID>) async -> Set<ItemID> {
        var shown = items
        for await event in events {
            switch event {
            case .newChatItems(let items): shown.formUnion(items.map(\.id))
            case .itemChanged(let item, .updated), .itemChanged(let item, .completed),
                .itemChanged(let item, .started):
                shown.insert(item.id)
            case .chatItemsDeleted(let items, _): shown.subtract(items.map(\.item))
            default: break
            }
        }
        return shown
    }

    @Test("an entry removed during its cancellation stays removed")
    func removedWhileCancelled() async throws {
        let links = stage.open()
        let (asked, mayEnd) = (AsyncSemaphore(0), AsyncSemaphore(0))
        core.state.withLock { state in
            state.whenCancelled = { _ in
                asked.release()
                _ = await mayEnd.acquire()
            }
        }
        let sent = try await links.send(stage.message("a.bin", [1]), to: .links)
        let file = try await stage.upload()
        let events = links.events()
        try await links.cancelFile(try #require(sent.file).id)
        _ = await asked.acquire()
        try await links.deleteItems([sent.id], in: .links, mode: .internal)
        mayEnd.release()
        try await wait(until: "nothing of it is left") { stage.kept.isEmpty }
        await links.close()
        core.hub.close()
        #expect(await shown(events, from: [sent.id]).isEmpty)
        #expect(cancelled == [file])
        #expect(try stage.store().read(or: 7) { try $0.rows(LinkStatus.allCases).count } == 0)
    }

    @Test(
        "an upload cancelled while it starts is revoked",
        arguments: [true, false])
    func removedWhileBegun(isRemoved: Bool) async throws {
        let links = stage.open()
        let store = stage.store()
        core.state.withLock { state in
            state.whenAsked = { [store] _ in
                // Through another core object, so the uploads get no event.
                if isRemoved { _ = try? store.remove([1]) } else { try? store.cancel(1) }
            }
        }
        let sent = try await links.send(stage.message("a.bin", [1]), to: .links)
        #expect(sent.id.rawValue == ItemID.firstOfLinks.rawValue + 1)
        try await wait(until: "it is taken back") { cancelled == [FileID(8)] }
        if isRemoved {
            try await wait(until: "nothing of it is left") { stage.kept.isEmpty }
        } else {
            try await wait(until: "it is noted") {
                try store.read(or: true) { try $0.row(1)?.hasBegun } == false
            }
            #expect(try await links.item(sent.id, in: .links).file?.status == .sndCancelled)
            #expect(stage.kept.count == 1, "its file stays")
        }
        await links.close()
    }

    @Test(
        "uploads without a noted number are revoked too"
    )
    func removedUnnumbered() async throws {
        let store = stage.store()
        let row = try store.add(stage.message("a.bin", [1]))
        try store.commit { try $0.table.noteBegun(row.id, upload: nil, expires: nil) }
        let source = try #require(store.location(of: row))
        let file = try await core.uploadStandaloneFile(source, named: row.name)
        #expect(try store.remove([row.id]) == [row.id])
        store.close()
        let links = stage.open()
        try await wait(until: "nothing of it is left") { stage.kept.isEmpty }
        #expect(cancelled == [file] && core.uploads.isEmpty)
        await links.close()
    }

    @Test(
        "unknown and ended uploads count as revoked",
        arguments: [ChatErrorCode.noSuchFile, .invalidCommand])
    func unknown(code: ChatErrorCode) async throws {
        let links = stage.open()
        let sent = try await links.send(stage.message("a.bin", [1]), to: .links)
        let file = try await stage.upload()
        core.hub.tell(.sndStandaloneFileComplete(file, links: [try LinkStage.link()]))
        try await wait(until: "it has a link") { try await links.item(sent.id, in: .links).file?.link != nil }
        core.state.withLock { $0.refusal = ChatError(code, "No.") }
        try await links.deleteItems([sent.id], in: .links, mode: .internal)
        try await wait(until: "nothing of it is left") { stage.kept.isEmpty }
        await links.close()
    }

    @Test(
        "missing and invalid links are reported")
    func nonsense() async throws {
        let links = stage.open()
        let sent = try await links.send(stage.message("a.bin", [1]), to: .links)
        let file = try await stage.upload()
        let status = { try await links.item(sent.id, in: .links).file?.status }
        core.hub.tell(.sndStandaloneFileComplete(file, links: []))
        try await wait(until: "it says so") {
            try await status() == .sndWarning(FileProblem(.other, "The core returned no link to the file."))
        }
        core.hub.tell(.sndStandaloneFileComplete(file, links: ["simplex:/file#nonsense"]))
        try await wait(until: "it says so") {
            try await status()
                == .sndWarning(FileProblem(.other, "The core returned an invalid link."))
        }
        core.hub.tell(.sndStandaloneFileComplete(file, links: [try LinkStage.link(), "second"]))
        try await wait(until: "it has a link") { try await status() == .sndComplete }
        #expect(try await stage.names(links) == ["a.bin", "a.bin.url"])
        await links.close()
    }

    @Test(
        "warnings end with progress, and foreign ends change nothing"
    )
    func warnings() async throws {
        let links = stage.open()
        let sent = try await links.send(stage.message("a.bin", [1]), to: .links)
        let file = try await stage.upload()
        let status = { try await links.item(sent.id, in: .links).file?.status }
        let problem = FileProblem(.timedOut, "Slow.")
        core.hub.tell(.standaloneFileWarning(file, problem))
        try await wait(until: "it is told") { try await status() == .sndWarning(problem) }
        core.hub.tell(.standaloneFileProgress(file, done: 4, total: 9))
        try await wait(until: "it goes on") { try await status() == .sndTransfer(sent: 4, total: 9) }
        core.hub.tell(.sndStandaloneFileError(FileID(999), problem))
        core.hub.tell(.sndStandaloneFileComplete(file, links: [try LinkStage.link()]))
        try await wait(until: "it is complete") { try await status() == .sndComplete }
        core.hub.tell(.sndStandaloneFileError(file, problem))
        core.hub.tell(.standaloneFileWarning(file, problem))
        core.hub.tell(.sndStandaloneFileComplete(file, links: [try LinkStage.link(2)]))
        // Later events: another upload starts and ends.
        let next = try await links.send(stage.message("b.bin", [1]), to: .links)
        let other = try await stage.upload("b.bin")
        core.hub.tell(.sndStandaloneFileError(other, problem))
        try await wait(until: "the next has failed") {
            try await links.item(next.id, in: .links).file?.status == .sndError(problem)
        }
        #expect(try await status() == .sndComplete)
        #expect(try await stage.names(links) == ["a.bin", "a.bin.url", "b.bin"])
        #expect(try await links.unsettledItems().map(\.id) == [next.id])
        await links.close()
    }

    @Test("a missing file delays only its own row")
    func missing() async throws {
        let store = stage.store()
        let row = try store.add(stage.message("gone.bin", [1]))
        try store.commit { try $0.table.setSource(of: row.id, "nothing", row.arguments) }
        store.close()
        let plain = ManualCore(stagingFolder: core.stagingFolder, uploadsCryptoFiles: false)
        let links = stage.open(plain)
        try await wait(until: "it says so") {
            if case .sndWarning = try await links.item(row.item, in: .links).file?.status {
                true
            } else {
                false
            }
        }
        let sent = try await links.send(stage.message("a.bin", [1]), to: .links)
        try await wait(until: "the other is uploaded") {
            plain.uploads.values.contains { $0.hasSuffix("/a.bin") }
        }
        #expect(try await links.unsettledItems().map(\.id) == [row.item, sent.id])
        await links.close()
    }
}
