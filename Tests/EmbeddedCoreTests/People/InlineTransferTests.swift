import Base
import ChatCore
import ChatProtocol
import InlineSending
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Inline files")
struct InlineTransferTests {
    @Test(
        "offered file of any size arrives on request",
        arguments: [0, 1, 15_780, 15_781, 236_700])
    func offered(_ size: Int) async throws {
        let stage = try await InlineStage()
        let bytes = pattern(size)
        let heard = Listener(try stage.alice.core)
        let file = try await stage.eve.offer(bytes, named: "bericht \"ü\".pdf")
        let item = try await stage.item(file.name) { $0 == .rcvInvitation(described: true) }
        #expect(item.file?.size == UInt64(size) && item.file?.transport == .smp && item.file?.expires == nil)
        #expect(item.sender == "eve" && stage.eve.asked.isEmpty)
        #expect(try stage.rows().transfers == 0)

        try await stage.ask(for: item)
        let received = try await stage.item(file.name) { $0 == .rcvComplete }
        #expect(try received.content() == bytes)
        #expect(stage.eve.asked == [file.id])
        try await heard.waits(for: "rcvFileComplete")
        let of = heard.names.filter { $0.hasPrefix("rcvFile") || $0 == "fileProgress" }
        let progress = Array(repeating: "fileProgress", count: file.chunks.count)
        #expect(of == ["rcvFileAccepted", "rcvFileStart"] + progress + ["rcvFileComplete"])
        #expect(try stage.rows() == (0, 0))

        // Requesting it again only repeats the event.
        try await stage.ask(for: received)
        try await heard.waits(for: "rcvFileComplete", times: 2)
        #expect(stage.eve.asked == [file.id])
        try await stage.end()
    }

    @Test("progress counts plaintext bytes")
    func progress() async throws {
        let stage = try await InlineStage()
        let heard = Listener(try stage.alice.core)
        let (file, item) = try await stage.begin("a", size: 50_000, chunks: 2)
        try await heard.waits(for: "fileProgress", times: 2)
        let told = heard.events.withLock { events in
            events.compactMap { event -> FileProgress? in
                if case .fileProgress(let progress) = event { progress } else { nil }
            }
        }
        let id = try #require(item.file).id
        #expect(told == [15_780, 31_560].map { FileProgress(of: id, in: item, done: $0, total: 50_000) })
        let shown = try await stage.alice.core.item(item.id, in: item.chat)
        #expect(shown.file?.status == .rcvTransfer(received: 31_560, total: 50_000))
        #expect(try await stage.alice.core.unsettledItems().map(\.id) == [item.id])
        try await stage.sendRest(of: file, after: 2)
        try await stage.item("a") { $0 == .rcvComplete }
        try await stage.end()
    }

    @Test("unrequested chunks are accepted after the message")
    func sent() async throws {
        let stage = try await InlineStage()
        let voice = try await stage.eve.send(pattern(100_000), named: "voice.m4a")
        let plain = try await stage.eve.send(
            pattern(126_240), named: "plain.bin", as: ChatContent(.file, text: "caption"))
        for file in [voice, plain] {
            let item = try await stage.item(file.name) { $0 == .rcvComplete }
            #expect(try item.content() == file.bytes)
            #expect(item.file?.transport == .smp)
        }
        #expect(stage.eve.asked.isEmpty)
        try await stage.end()
    }

    @Test("small media is requested automatically, eight at once")
    func byItself() async throws {
        let stage = try await InlineStage()
        let voice = try await stage.eve.offer(
            pattern(40_000), named: "voice.m4a", as: ChatContent(.voice(seconds: 3)))
        let received = try await stage.item("voice.m4a") { $0 == .rcvComplete }
        #expect(try received.content() == voice.bytes)
        stage.eve.hold()
        for number in 1...10 {
            _ = try await stage.eve.offer(
                pattern(40_000), named: "\(number).jpg", as: ChatContent(.image(preview: "data:x")))
        }
        let last = try await stage.item("10.jpg") { _ in true }
        #expect(last.file?.status == .rcvInvitation(described: true))
        try await stage.item("8.jpg") { $0 == .rcvAccepted }
        // Its reader can request it.
        try await stage.ask(for: last)
        try await wait(until: "it was asked for") { stage.eve.asked.count == 10 }
        try await stage.item("10.jpg") { $0 == .rcvAccepted }
        try await stage.end()
    }

    @Test("oversized inline file is rejected")
    func tooLarge() async throws {
        let stage = try await InlineStage()
        _ = try await stage.eve.offer(pattern(236_701), named: "offered")
        _ = try await stage.eve.send(pattern(126_241), named: "sent")
        for name in ["offered", "sent"] {
            let item = try await stage.item(name) { $0.failure != nil }
            #expect(item.file?.status.failure?.kind == .tooLarge)
            #expect(item.file?.status.failure?.sentence.contains("236700 bytes") == true)
            #expect(await refusal { try await stage.ask(for: item) }?.code == .file(.tooLarge))
        }
        #expect(try stage.rows() == (0, 0))
        try await stage.end()
    }

    @Test("transfer completes after restart")
    func restart() async throws {
        let stage = try await InlineStage()
        let (file, _) = try await stage.begin("a", size: 100_000, chunks: 2)
        try await stage.alice.reopen()
        let item = try await stage.item("a") { $0 == .rcvTransfer(received: 31_560, total: 100_000) }
        // A repeated request is not sent again.
        try await stage.ask(for: item)
        try await stage.eve.send(file.chunks[2])
        try await stage.item("a") { $0 == .rcvTransfer(received: 47_340, total: 100_000) }
        try await stage.alice.core.shutDown()
        try await stage.sendRest(of: file, after: 3)
        try await stage.alice.open()
        let received = try await stage.item("a") { $0 == .rcvComplete }
        #expect(try received.content() == file.bytes)
        #expect(stage.eve.asked == [file.id])
        try await stage.end()
    }

    @Test("unstorable chunk is redelivered")
    func cannotBeStored() async throws {
        let stage = try await InlineStage()
        let (file, _) = try await stage.begin("a", size: 60_000, chunks: 1)
        let database = try stage.alice.world.database()
        try database.transaction { try $0.execute("UPDATE file SET status = 'unreadable'") }
        try await stage.sendRest(of: file, after: 1)
        try await Task.sleep(for: .milliseconds(300))
        #expect(try stage.rows() == (1, 1))
        try database.transaction { try $0.execute("UPDATE file SET status = 'rcv_transfer'") }
        let received = try await stage.item("a") { $0 == .rcvComplete }
        #expect(try received.content() == file.bytes)
        try await stage.end()
    }

    @Test(
        "cancellation by the sender ends the transfer",
        arguments: [false, true])
    func takenBack(asChunk: Bool) async throws {
        let stage = try await InlineStage()
        let heard = Listener(try stage.alice.core)
        let (file, item) = try await stage.begin("a", size: 60_000, chunks: 2)
        if asChunk {
            try await stage.eve.send(InlineChunk(of: file.id, number: 0, bytes: []))
        } else {
            try await stage.eve.say(.fileCancelled(file.id))
        }
        try await stage.sendRest(of: file, after: 2)
        _ = try await stage.eve.send([1], named: "next")
        try await stage.item("next") { $0 == .rcvComplete }
        try await stage.item("a") { $0 == .rcvCancelled }
        try await heard.waits(for: "rcvFileSndCancelled")
        #expect(await refusal { try await stage.ask(for: item) }?.code == .file(.cancelledBySender))
        #expect(try stage.rows() == (0, 0))
        try await stage.end()
    }

    @Test(
        "deleted message leaves no transfer",
        arguments: [false, true])
    func deleted(bySender: Bool) async throws {
        let stage = try await InlineStage()
        let (file, item) = try await stage.begin("a", size: 60_000, chunks: 2)
        if bySender {
            try await stage.eve.say(.deletion(file.id, author: nil))
        } else {
            try await stage.alice.core.deleteItems([item.id], in: stage.chat, mode: .internal)
        }
        try await stage.sendRest(of: file, after: 2)
        let next = try await stage.eve.send(pattern(20_000), named: "next")
        #expect(try await stage.item("next") { $0 == .rcvComplete }.content() == next.bytes)
        #expect(try await stage.alice.core.items(of: stage.chat, before: nil, count: 9).count == 1)
        #expect(try stage.rows() == (0, 0))
        try await stage.end()
    }

    @Test("departed contact fails pending files")
    func contactGone() async throws {
        let stage = try await InlineStage()
        let heard = Listener(try stage.alice.core)
        let (_, coming) = try await stage.begin("coming", size: 60_000, chunks: 2)
        _ = try await stage.eve.offer([1], named: "offered")
        _ = try await stage.eve.send([1], named: "here")
        try await stage.item("here") { $0 == .rcvComplete }
        try await stage.eve.say(.contactDeleted)
        for name in ["coming", "offered"] {
            let item = try await stage.item(name) { $0.failure != nil }
            #expect(item.file?.status.failure?.kind == .expired)
            #expect(await refusal { try await stage.ask(for: item) }?.code == .file(.expired))
        }
        try await heard.waits(for: "rcvFileError", times: 2)
        #expect(try await stage.item("here") { $0 == .rcvComplete }.content() == [1])
        #expect(try stage.rows() == (0, 0) && coming.file != nil)
        try await stage.end()
    }

    @Test("leaving the chat ends transfers")
    func left() async throws {
        let stage = try await InlineStage()
        let (file, _) = try await stage.begin("a", size: 60_000, chunks: 2)
        let chat = try await stage.chat
        try await stage.alice.core.leaveChat(chat)
        try await stage.sendRest(of: file, after: 2)
        let item = try await stage.item("a") { $0.failure != nil }
        #expect(item.file?.status.failure?.sentence.contains("you have left") == true)
        #expect(try stage.rows() == (0, 0))
        try await stage.alice.core.deleteChat(chat)
        try await stage.end()
    }

    @Test("cancelled transfer becomes an offer and completes later")
    func cancelledHere() async throws {
        let stage = try await InlineStage()
        let (file, item) = try await stage.begin("a", size: 60_000, chunks: 1)
        let id = try #require(item.file).id
        try await stage.alice.core.cancelFile(id)
        try await stage.item("a") { $0 == .rcvInvitation(described: true) }
        try await stage.eve.send(file.chunks[1])
        try await stage.alice.core.receiveFile(id, approvedRelays: false)
        try await stage.eve.send(file.chunks[2])
        try await stage.item("a") { $0 == .rcvTransfer(received: 47_340, total: 60_000) }
        try await stage.alice.core.cancelFile(id)
        try await stage.eve.send(file.chunks[3])
        #expect(try await stage.item("a") { $0 == .rcvComplete }.content() == file.bytes)
        #expect(stage.eve.asked == [file.id])
        #expect(await refusal { try await stage.alice.core.cancelFile(id) }?.code == .invalidCommand)
        try await stage.end()
    }

    @Test("missing or wrong chunk damages only its file")
    func damaged() async throws {
        let stage = try await InlineStage()
        let (gap, _) = try await stage.begin("gap", size: 60_000, chunks: 1)
        let (long, item) = try await stage.begin("long", size: 20_000, chunks: 1)
        try await stage.eve.send(gap.chunks[2])
        try await stage.eve.send(InlineChunk(of: long.id, number: 2, bytes: pattern(5000)))
        for name in ["gap", "long"] {
            let found = try await stage.item(name) { $0.failure != nil }
            #expect(found.file?.status.failure?.kind == .damaged)
            #expect(found.file?.status.failure?.sentence.contains("send it again") == true)
        }
        #expect(await refusal { try await stage.ask(for: item) }?.code == .file(.damaged))
        #expect(try stage.rows() == (0, 0))
        // An unfinished transfer is dropped in favour of later ones.
        for number in 1...9 { _ = try await stage.eve.begin(pattern(20_000), named: "\(number)") }
        let first = try await stage.item("1") { $0.failure != nil }
        #expect(first.file?.status.failure?.kind == .neverUploaded)
        #expect(try stage.rows().transfers == 8)
        try await stage.end()
    }

    @Test("exported chat fails missing inline files")
    func archived() async throws {
        let stage = try await InlineStage()
        let here = try await stage.eve.send([1, 2], named: "here")
        try await stage.item("here") { $0 == .rcvComplete }
        _ = try await stage.begin("coming", size: 60_000, chunks: 2)
        let profile = try stage.alice.world.directory.profile(named: "alice").id
        try stage.alice.world.database().transaction { connection in
            let chats = try connection.query("SELECT id FROM chat WHERE kind = 'direct'") { $0.integer("id") }
            try SelectionTable(connection: connection).keep(chats, of: profile)
        }
        try await stage.item("coming") { $0.failure?.kind == .expired }
        #expect(try await stage.item("here") { $0 == .rcvComplete }.content() == here.bytes)
        #expect(try stage.rows() == (0, 0))
        try await stage.end()
    }

    @Test("own files are never sent inline")
    func ownFile() async throws {
        let stage = try await InlineStage()
        let sent = try await stage.alice.core.send(
            stage.alice.core.compose(pattern(10)), to: stage.chat)
        let id = try await wait(for: "the message") {
            stage.eve.heard.compactMap { element -> SharedMessageID? in
                guard case .message(let message) = element, case .message(let new) = message.event,
                    case .described = new.file?.way
                else { return nil }
                return message.id
            }.first
        }
        try await stage.eve.say(.fileAccepted(id, name: "report.pdf"))
        _ = try await stage.eve.send([1], named: "next")
        try await stage.item("next") { $0 == .rcvComplete }
        let after = try await stage.item("report.pdf") { $0 == .sndComplete }
        #expect(after.id == sent.id)
        #expect(!stage.eve.heard.contains { if case .chunk = $0 { true } else { false } })
        try await stage.end()
    }
}
