import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct TwoProfilesTests {
    @Test(arguments: [0, 1, 65_000, 261_120])
    func smallFileArrivesInMessage(size: Int) async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice", relays: [])
        let bob = try await world.open("bob", relays: [])
        let heard = Listener(bob)
        let sent = try await alice.send(
            try alice.compose(pattern(size), name: "ünï \u{1F600}.txt"), to: alice.chat(named: "bob"))
        #expect(sent.file?.status == .sndComplete)
        #expect(sent.file?.transport == .inline)
        #expect(try sent.content() == pattern(size))
        try await heard.waits(for: "newChatItems")
        try await heard.waits(for: "rcvFileComplete")
        let received = try await bob.newest(in: "alice")
        #expect(received.file?.status == .rcvComplete)
        #expect(received.file?.name == "ünï \u{1F600}.txt")
        #expect(received.file?.size == UInt64(size))
        #expect(received.sender == "alice")
        #expect(received.content.text == "caption")
        #expect(try received.content() == pattern(size))
        #expect(received.file?.source?.arguments != sent.file?.source?.arguments)
        #expect(heard.names == ["newChatItems", "rcvFileComplete", "messageLogGrew"])
        let left = try world.database().read {
            try $0.exists("SELECT 1 FROM file WHERE inline_content IS NOT NULL")
        }
        #expect(!left)
        #expect(world.relay.state.withLock { $0.uploadsBegun } == 0)
        await alice.shutDown()
        await bob.shutDown()
    }

    /// Stored together; a damaged file does not block the others.
    @Test func smallFilesArriveTogetherAfterAbsence() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice", relays: [])
        for size in 1...5 {
            _ = try await alice.send(
                try alice.compose(pattern(size), name: "\(size)"), to: alice.chat(named: "bob"))
        }
        try world.database().transaction { connection in
            _ = try connection.execute(
                "UPDATE file SET inline_content = '!' WHERE inline_content IS NOT NULL AND name = '3'")
        }
        let bob = try await world.open("bob", relays: [])
        let items = try await bob.items(of: bob.chat(named: "alice"), before: nil, count: 9)
        #expect(items.compactMap { $0.file?.name } == ["5", "4", "3", "2", "1"])
        for item in items {
            guard let file = item.file, file.name != "3" else { continue }
            #expect(file.status == .rcvComplete)
            #expect(try item.content() == pattern(Int(file.size)))
        }
        let damaged = items[2].file?.status
        guard case .rcvError(let problem)? = damaged else {
            Issue.record("not damaged")
            return
        }
        #expect(problem.kind == .damaged)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func largeFileIsListedBeforeUpload() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        world.relay.state.withLock { $0.allowance = 0 }
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let (heardByAlice, heardByBob) = (Listener(alice), Listener(bob))
        let sent = try await alice.send(try alice.compose(pattern(261_121)), to: alice.chat(named: "bob"))
        #expect(sent.file?.status == .sndStored)
        #expect(sent.file?.transport == .xftp)
        try await heardByBob.waits(for: "newChatItems")
        let offered = try await bob.newest(in: "alice")
        #expect(offered.file?.status == .rcvInvitation(described: false))
        #expect(offered.file?.expires == world.clock.now().advanced(by: .seconds(48 * 3600)))
        try await heardByAlice.waits(for: "sndFileWarning")
        world.relay.state.withLock { $0.allowance = .max }
        try await heardByBob.waits(for: "rcvFileDescrReady")
        try await heardByAlice.waits(for: "sndFileComplete")
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: true))
        #expect(try await alice.newest(in: "bob").file?.status == .sndComplete)

        try await bob.receiveFile(try #require(offered.file).id, approvedRelays: false)
        try await heardByBob.waits(for: "rcvFileComplete")
        #expect(try await bob.newest(in: "alice").content() == pattern(261_121))
        #expect(
            heardByBob.names.filter { $0 != "fileProgress" } == [
                "newChatItems", "messageLogGrew", "rcvFileDescrReady", "rcvFileAccepted", "rcvFileStart",
                "rcvFileComplete",
            ])
        #expect(world.relay.state.withLock { $0.passwords.allSatisfy { $0 == "hunter2" } })
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func messagesWaitForAbsentProfile() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        for number in 0..<3 {
            _ = try await alice.send(try alice.compose(pattern(10 + number)), to: chat)
        }
        let bob = try await world.open("bob")
        let items = try await bob.items(of: bob.chat(named: "alice"), before: nil, count: 10)
        #expect(items.map { $0.file?.size } == [12, 11, 10])
        #expect(items.allSatisfy { $0.file?.status == .rcvComplete })
        let page = try await bob.items(of: bob.chat(named: "alice"), before: items[0].id, count: 1)
        #expect(page.map(\.id) == [items[1].id])
        #expect(try await bob.item(items[2].id, in: bob.chat(named: "alice")) == items[2])
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func imagesWithinLimitAreReceivedAutomatically() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let heard = Listener(bob)
        let chat = try await alice.chat(named: "bob")
        let image = MessageContent.Kind.image(preview: "data:image/jpg;base64,AA==")
        _ = try await alice.send(try alice.compose(pattern(522_240), name: "a.jpg", kind: image), to: chat)
        try await heard.waits(for: "rcvFileComplete")
        #expect(try await bob.newest(in: "alice").content() == pattern(522_240))
        _ = try await alice.send(try alice.compose(pattern(522_241), name: "b.jpg", kind: image), to: chat)
        try await heard.waits(for: "rcvFileDescrReady", times: 2)
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: true))
        #expect(try await bob.newest(in: "alice").content.kind == image)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func disabledArrivalRuleReceivesNothing() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let arrivals = ArrivalRule(ArrivalRule.Choice(usual: false))
        let bob = try await world.open("bob", arrivals: arrivals)
        let heard = Listener(bob)
        let chat = try await alice.chat(named: "bob")
        let image = MessageContent.Kind.image(preview: "data:image/jpg;base64,AA==")
        _ = try await alice.send(try alice.compose(pattern(300_000), name: "a.jpg", kind: image), to: chat)
        try await heard.waits(for: "rcvFileDescrReady")
        let offered = try await bob.newest(in: "alice")
        #expect(offered.file?.status == .rcvInvitation(described: true))
        // It can still be requested; once enabled again, the next file arrives.
        try await bob.receiveFile(try #require(offered.file?.id), approvedRelays: false)
        try await heard.waits(for: "rcvFileComplete")
        arrivals.change(to: ArrivalRule.Choice())
        _ = try await alice.send(try alice.compose(pattern(300_001), name: "b.jpg", kind: image), to: chat)
        try await heard.waits(for: "rcvFileComplete", times: 2)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func largeFileWithoutRelayIsRejected() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice", relays: [])
        let message = try alice.compose(pattern(261_121))
        let chat = try await alice.chat(named: "bob")
        let error = await refusal { try await alice.send(message, to: chat) }
        #expect(error?.code == .file(.noRelay))
        #expect(error?.sentence.contains("chatfs relay add") == true)
        #expect(access(message.source.path, F_OK) == 0)
        await alice.shutDown()
    }

    @Test func fileAboveOneGiBIsRejected() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        var message = try alice.compose([1])
        message.size = 1_073_741_825
        let chat = try await alice.chat(named: "bob")
        let error = await refusal { try await alice.send(message, to: chat) }
        #expect(error?.code == .tooLarge)
        await alice.shutDown()
    }
}
