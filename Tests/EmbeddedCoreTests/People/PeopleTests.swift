import Agent
import Base
import ChatCore
import ChatProtocol
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Contacts on the network")
struct PeopleTests {
    @Test("link connects two profiles")
    func pairing() async throws {
        let (alice, bob) = try await Internet().pair()
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes", "bob"])
        #expect(try await bob.core.chats().map(\.displayName) == ["Saved notes", "alice"])
        await (try alice.core, try bob.core).0.shutDown()
        try await bob.core.shutDown()
    }

    @Test("repeated link gives the same contact")
    func usedLink() async throws {
        let internet = try Internet()
        let (alice, bob, carol) = (
            try internet.machine("alice"), try internet.machine("bob"), try internet.machine("carol")
        )
        let invitation = try await alice.open().invite()
        let first = try await bob.open().accept(invitation.link)
        #expect(try await bob.core.accept(invitation.link) == first)
        let refused = await refusal { try await carol.open().accept(invitation.link) }
        #expect(refused?.code == .invalidCommand)
        let nonsense = await refusal { try await carol.core.accept("https://example.org/") }
        #expect(nonsense?.code == .invalidCommand)
        for machine in [alice, bob, carol] { try await machine.core.shutDown() }
    }

    @Test("invitation without a messaging server fails with remedy")
    func noServer() async throws {
        let world = try World(["alice"])
        let core = try await world.open("alice")
        #expect(await refusal { try await core.invite() }?.code == .file(.noRelay))
        let key = String(repeating: "A", count: 43)
        let link = "simplex:/a#\(key)?h=localhost&c=\(key)"
        #expect(await refusal { try await core.accept(link) }?.code == .file(.noRelay))
        // A malformed link is reported first.
        #expect(await refusal { try await core.accept("simplex:/i#x") }?.code == .invalidCommand)
        await core.shutDown()
    }

    @Test("file arrives complete", arguments: [1, 300_000])
    func files(_ size: Int) async throws {
        let (alice, bob) = try await Internet().pair()
        let bytes = pattern(size)
        let chat = try await alice.core.chat(named: "bob")
        let sent = try await alice.core.send(alice.core.compose(bytes), to: chat)
        #expect(sent.file?.transport == .xftp)
        let offered = try await bob.core.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        #expect(offered.file?.name == "report.pdf" && offered.file?.size == UInt64(size))
        #expect(offered.content.text == "caption" && offered.sender == "alice")
        let file = try #require(offered.file?.id)
        try await bob.core.receiveFile(file, approvedRelays: false)
        let received = try await bob.core.item(in: "alice") { $0 == .rcvComplete }
        #expect(try received.content() == bytes)
        _ = try await alice.core.item(in: "bob") { $0 == .sndComplete }
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test(
        "files and messages survive all restarts once"
    )
    func restarts() async throws {
        let internet = try Internet()
        let (alice, bob) = try await internet.pair()
        var names: [String] = []
        for round in 0..<3 {
            for number in 0..<4 {
                let name = "\(round)-\(number).txt"
                names.append(name)
                let message = try alice.core.compose(pattern(100 + number), name: name, id: name)
                let chat = try await alice.core.chat(named: "bob")
                let first = try await alice.core.send(message, to: chat)
                // The outbox asks again after an unknown outcome.
                let again = try alice.core.compose(pattern(100 + number), name: name, id: name)
                #expect(try await alice.core.send(again, to: chat).id == first.id)
            }
            if round == 0 { try await alice.reopen() }
            if round == 1 {
                await internet.stop()
                try await bob.reopen()
                try internet.start()
            }
        }
        let chat = try await bob.core.chat(named: "alice")
        let items = try await wait(for: "all files described at bob's") {
            let items = try await bob.core.items(of: chat, before: nil, count: 100)
            let isComplete =
                items.count == names.count
                && items.allSatisfy { $0.file?.status == .rcvInvitation(described: true) }
            return isComplete ? items : nil
        }
        #expect(items.reversed().map { $0.file?.name ?? "" } == names)
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("messages sent before shutdown arrive")
    func endedAtOnce() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let sent = try await alice.core.send(alice.core.compose(pattern(1000), name: "last"), to: chat)
        // With its chunks on the relay, the description is on its way.
        _ = try await alice.core.item(in: "bob") { $0 == .sndComplete }
        try await alice.core.shutDown(finishingWithin: .seconds(60))
        let offered = try await bob.core.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        #expect(offered.file?.name == "last" && sent.file != nil)
        try await bob.core.shutDown()
    }

    @Test("short command's message is sent before exit")
    func saidAtOnce() async throws {
        let (alice, bob) = try await Internet().pair()
        var texts: [String] = []
        try await alice.core.shutDown()
        for number in 1...12 {
            try await alice.open()
            texts.append("text \(number)")
            try await alice.core.send(
                ComposedText(id: "\(number)", text: "text \(number)"), to: alice.core.chat(named: "bob"))
            try await alice.core.shutDown(finishingWithin: .seconds(60))
            try await wait(until: "text \(number) is there") {
                try await Line.all(bob.core.log(of: "alice")).compactMap(\.text) == texts
            }
        }
        try await bob.core.shutDown()
    }

    @Test("restored profile agrees on new keys once")
    func restored() async throws {
        let (alice, bob) = try await Internet().pair()
        try await bob.core.shutDown()
        let code = try await alice.core.security(of: alice.core.chat(named: "bob"))?.code
        let directory = bob.world.directory
        let folders = try directory.profileFolders(of: directory.profile(named: "bob"))
        let mark = folders.path + "/" + ProfileFolders.restoredMark
        _ = try OpenFile(mark, flags: O_WRONLY | O_CREAT | O_EXCL)
        #expect(folders.isRestored)
        try await bob.open()
        _ = try await wait(for: "new keys") {
            let now = try await alice.core.security(of: alice.core.chat(named: "bob"))?.code
            return now != code ? now : nil
        }
        try await wait(until: "it is used") { !folders.isRestored }
        let chat = try await bob.core.chat(named: "alice")
        _ = try await bob.core.send(bob.core.compose(pattern(9), name: "after"), to: chat)
        _ = try await alice.core.item(in: "bob") { $0 == .rcvInvitation(described: true) }
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("agent is reopened after a failed start")
    func openedLater() async throws {
        let (alice, bob) = try await Internet().pair()
        try await bob.core.shutDown()
        try await alice.core.send(
            ComposedText(id: "1", text: "good morning"), to: alice.core.chat(named: "bob"))
        let tries = Lock(0)
        let core = try await bob.world.open("bob") { path, key, servers, network in
            let isEarly = tries.withLock { tries in
                tries += 1
                return tries < 3
            }
            if isEarly { throw AgentError(.store, "The disk is full.") }
            return try Machine.agent(path, key, servers, network)
        }
        try await wait(until: "what alice wrote is there") {
            try await Line.all(core.log(of: "alice")).compactMap(\.text) == ["good morning"]
        }
        try await core.send(ComposedText(id: "2", text: "you too"), to: core.chat(named: "alice"))
        try await wait(until: "what bob wrote is there") {
            try await Line.all(alice.core.log(of: "bob")).contains { $0.text == "you too" }
        }
        #expect(tries.withLock { $0 } == 3)
        await core.shutDown()
        try await alice.core.shutDown()
    }

    @Test("key renewal changes the code and keeps messages")
    func renewedKeys() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let code = try await alice.core.security(of: chat)?.code
        try await alice.core.renewKeys(of: chat)
        try await alice.core.send(ComposedText(id: "1", text: "with new keys"), to: chat)
        for (machine, name) in [(alice, "bob"), (bob, "alice")] {
            try await wait(until: "\(machine.name) is told") {
                try await Line.all(machine.core.log(of: name)).contains { $0.event == "keys" }
            }
            #expect(try await machine.core.chats().allSatisfy { $0.sendingProblem == nil })
        }
        try await wait(until: "it is there") {
            try await Line.all(bob.core.log(of: "alice")).contains { $0.text == "with new keys" }
        }
        let now = try await alice.core.security(of: chat)?.code
        #expect(now != code)
        #expect(try await bob.core.security(of: bob.core.chat(named: "alice"))?.code == now)
        let notes = try await bob.core.chat(named: "Saved notes")
        #expect(await refusal { try await bob.core.renewKeys(of: notes) }?.code == .invalidCommand)
        #expect(await refusal { try await bob.core.renewKeys(of: .direct(99)) }?.code == .noSuchChat)
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("deletion for everyone and cancellation reach the peer")
    func takenBack() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let first = try await alice.core.send(alice.core.compose(pattern(10), name: "a"), to: chat)
        let second = try await alice.core.send(alice.core.compose(pattern(10), name: "b"), to: chat)
        let there = try await bob.core.chat(named: "alice")
        _ = try await wait(for: "both at bob's") {
            let items = try await bob.core.items(of: there, before: nil, count: 9)
            return items.count == 2 ? items : nil
        }
        try await alice.core.deleteItems([first.id], in: chat, mode: .broadcast)
        try await alice.core.cancelFile(try #require(second.file).id)
        let left = try await wait(for: "one of them") {
            let items = try await bob.core.items(of: there, before: nil, count: 9)
            return items.count == 1 && items[0].file?.status == .rcvCancelled ? items : nil
        }
        #expect(left[0].file?.name == "b")
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("leaving ends the peer's chat")
    func leaving() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        _ = try await alice.core.send(alice.core.compose(pattern(10)), to: chat)
        _ = try await bob.core.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        try await alice.core.leaveChat(chat)
        let ended = try await wait(for: "the end at bob's") {
            try await bob.core.chats().first { $0.displayName == "alice" && $0.sendingRefused != nil }
        }
        #expect(ended.sendingRefused == "The contact has left this chat.")
        #expect(try await bob.core.items(of: ended.reference, before: nil, count: 9).count == 1)
        let refused = await refusal {
            try await bob.core.send(bob.core.compose(pattern(3)), to: ended.reference)
        }
        #expect(refused?.code == .sendingRefused)
        try await alice.core.deleteChat(chat)
        #expect(try await alice.core.chats().count == 1)
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("both sides show the same security code")
    func securityCode() async throws {
        let (alice, bob) = try await Internet().pair()
        let code = try await alice.core.security(of: alice.core.chat(named: "bob"))?.code
        #expect(code?.isEmpty == false)
        #expect(try await bob.core.security(of: bob.core.chat(named: "alice"))?.code == code)
        #expect(try await bob.core.security(of: bob.core.chat(named: "Saved notes")) == nil)
        #expect(await refusal { try await bob.core.security(of: .direct(99)) }?.code == .noSuchChat)
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("new profile name reaches contacts and open links")
    func ownName() async throws {
        let internet = try Internet()
        let (alice, bob) = try await internet.pair()
        let open = try await alice.core.invite()
        try alice.world.directory.renameProfile(alice.core.profile, to: "Alice B.")
        _ = try await wait(for: "the new name at bob's") {
            try await bob.core.chats().first { $0.displayName == "Alice B." }
        }
        let carol = try internet.machine("carol")
        let joined = try await carol.open().accept(open.link)
        _ = try await wait(for: "the new name at carol's") {
            try await carol.core.contact(of: joined).flatMap { $0.displayName == "Alice B." ? $0 : nil }
        }
        for machine in [alice, bob, carol] { try await machine.core.shutDown() }
    }

    @Test("contact's new name keeps the folder")
    func renamed() async throws {
        let store = try World(["alice"])
        let core = try await store.open("alice")
        let profile = core.profile.id
        let chat = try core.store.commit { change in
            let chat = try change.tables.chats.insertContact("bob", of: profile, at: Timestamp(seconds: 1))
            let arrived = ArrivedMessages(
                change: change, side: ChatSide(profile: profile, chat: chat), sender: "bob")
            _ = try arrived.perform([.profileChanged(ContactProfile(displayName: "robert"))])
            return chat
        }
        #expect(try await core.chats().last?.displayName == "robert")
        try await core.renameChat(.direct(chat), to: "my bob")
        #expect(try await core.chats().last?.displayName == "my bob")
        await core.shutDown()
    }
}
