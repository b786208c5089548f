import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

/// Expiry of messages.
@Suite struct DisappearingTests {
    private let world: World
    private let alice: Profile

    init() throws {
        world = try World()
        try world.directory.connect("alice", "bob")
        alice = try world.directory.profile(named: "alice")
    }

    private func chat() throws -> ChatReference {
        try #require(try world.directory.chats(of: alice).first { $0.displayName == "bob" }).reference
    }

    private func count(of name: String, in core: EmbeddedCore) async throws -> Int {
        try await core.items(of: core.chat(named: name), before: nil, count: 99).count
    }

    @Test func expiredMessageIsDeletedOnBothSides() async throws {
        let (alice, bob) = (try await world.open("alice"), try await world.open("bob"))
        _ = try await alice.send(try alice.compose([1], name: "before"), to: chat())
        try world.directory.setTimeToLive(.seconds(3600), in: chat(), of: self.alice)
        let item = try await alice.send(try alice.compose(pattern(300_000), name: "after"), to: chat())
        _ = try await bob.send(try bob.compose([2, 3], name: "answer"), to: bob.chat(named: "alice"))
        try await wait(until: "bob's answer is there") { try await count(of: "bob", in: alice) == 3 }
        let path = try #require(item.file?.source).path
        await alice.disappearing.look()
        #expect(try await count(of: "bob", in: alice) == 3)
        let heard = Listener(alice)
        world.clock.advance(by: .seconds(3601))
        for core in [alice, bob] { await core.disappearing.look() }
        try await heard.waits(for: "chatItemsDeleted")
        for (core, name) in [(alice, "bob"), (bob, "alice")] {
            #expect(try await count(of: name, in: core) == 1)
            #expect(try await core.newest(in: name).file?.name == "before")
        }
        #expect(access(path, F_OK) != 0)
        #expect(
            try await alice.items(of: chat(), before: nil, count: 9).allSatisfy { $0.file?.name == "before" })
        await alice.shutDown()
        await bob.shutDown()
    }

    /// The process was killed or absent at the expiry.
    @Test func expiredMessagesAreDeletedBeforeOpenReturns() async throws {
        try world.directory.setTimeToLive(.seconds(60), in: chat(), of: alice)
        let first = try await world.open("alice")
        _ = try await first.send(try first.compose([1]), to: chat())
        await first.shutDown()
        world.clock.advance(by: .seconds(61))
        for name in ["alice", "bob"] {
            let core = try await world.open(name)
            let other = name == "alice" ? "bob" : "alice"
            #expect(try await count(of: other, in: core) == 0)
            #expect(try core.store.folders.names() == [])
            await core.shutDown()
        }
        let left = try world.database().read {
            try $0.first("SELECT (SELECT count(*) FROM item) + (SELECT count(*) FROM file) AS n") {
                $0.integer("n")
            }
        }
        #expect(left == 0)
    }

    @Test func expiryStartsAfterUpload() async throws {
        let (alice, bob) = (try await world.open("alice"), try await world.open("bob"))
        let sides = [(alice, "bob"), (bob, "alice")]
        try world.directory.setTimeToLive(.seconds(60), in: chat(), of: self.alice)
        world.relay.state.withLock { $0.allowance = 0 }
        let item = try await alice.send(try alice.compose(pattern(300_000)), to: chat())
        let path = try #require(item.file?.source).path
        world.clock.advance(by: .seconds(61))
        for core in [alice, bob] { await core.disappearing.look() }
        for (core, name) in sides { #expect(try await count(of: name, in: core) == 1) }
        #expect(access(path, F_OK) == 0)
        world.relay.state.withLock { $0.allowance = .max }
        _ = try await alice.item(in: "bob") { $0 == .sndComplete }
        _ = try await bob.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        world.clock.advance(by: .seconds(59))
        for core in [alice, bob] { await core.disappearing.look() }
        for (core, name) in sides { #expect(try await count(of: name, in: core) == 1) }
        world.clock.advance(by: .seconds(2))
        for core in [alice, bob] { await core.disappearing.look() }
        for (core, name) in sides { #expect(try await count(of: name, in: core) == 0) }
        #expect(access(path, F_OK) != 0)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func expiryStartsAfterFinalUploadError() async throws {
        let alice = try await world.open("alice")
        try world.directory.setTimeToLive(.seconds(60), in: chat(), of: self.alice)
        world.relay.state.withLock { $0.allowance = 0 }
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: chat())
        world.clock.advance(by: .seconds(61))
        world.relay.state.withLock {
            $0.failure = TransferFailure(problem: FileProblem(.other, "Never."), isTemporary: false)
        }
        _ = try await alice.item(in: "bob") { if case .sndError = $0 { true } else { false } }
        await alice.disappearing.look()
        #expect(try await count(of: "bob", in: alice) == 1)
        world.clock.advance(by: .seconds(61))
        await alice.disappearing.look()
        #expect(try await count(of: "bob", in: alice) == 0)
        await alice.shutDown()
    }

    @Test func alreadyDeletedMessageDoesNotBlockOthers() async throws {
        let alice = try await world.open("alice")
        let items = [
            try await alice.send(try alice.compose([1]), to: chat()),
            try await alice.send(try alice.compose([2]), to: chat()),
        ]
        try await alice.deleteItems([items[0].id], in: chat(), mode: .internal)
        try await alice.removals.delete(
            items.map(\.id), in: chat(), mode: .internal, .disappeared)
        #expect(try await count(of: "bob", in: alice) == 0)
        await alice.shutDown()
    }

    @Test func failedDeletionIsRetried() async throws {
        let alice = try await world.open("alice")
        try world.directory.setTimeToLive(.seconds(60), in: chat(), of: self.alice)
        _ = try await alice.send(try alice.compose([1]), to: chat())
        await alice.disappearing.look()
        #expect(alice.disappearing.next == world.clock.now().advanced(by: .seconds(60)))
        let database = try world.database()
        try database.transaction {
            try $0.executeScript(
                "CREATE TRIGGER full BEFORE DELETE ON item BEGIN SELECT RAISE(ABORT, 'full'); END")
        }
        world.clock.advance(by: .seconds(600))
        await alice.disappearing.look()
        #expect(alice.disappearing.next == world.clock.now().advanced(by: Disappearing.pause))
        try database.transaction { try $0.executeScript("DROP TRIGGER full") }
        await alice.disappearing.look()
        #expect(try await count(of: "bob", in: alice) == 0 && alice.disappearing.next == nil)
        await alice.shutDown()
    }

    @Test func eitherSideSetsRetentionForBoth() async throws {
        let bob = try world.directory.profile(named: "bob")
        let theirs = try #require(try world.directory.chats(of: bob).first { $0.displayName == "alice" })
            .reference
        #expect(try world.directory.timeToLive(in: chat(), of: alice) == nil)
        try world.directory.setTimeToLive(.seconds(7 * 86_400), in: theirs, of: bob)
        #expect(try world.directory.timeToLive(in: chat(), of: alice) == .seconds(7 * 86_400))
        try world.directory.setTimeToLive(nil, in: chat(), of: alice)
        #expect(try world.directory.timeToLive(in: theirs, of: bob) == nil)
        for time in [Duration.zero, .milliseconds(500), .seconds(-1), .seconds(1 << 40)] {
            #expect(throws: ChatError.self) { try world.directory.setTimeToLive(time, in: chat(), of: alice) }
        }
    }

    @Test func expiredTextIsBlankedInPlace() async throws {
        let (alice, bob) = (try await world.open("alice"), try await world.open("bob"))
        for (time, text) in [(nil, "before"), (Duration.seconds(60), "secret"), (nil, "after")] {
            try world.directory.setTimeToLive(time, in: chat(), of: self.alice)
            try await alice.send(ComposedText(id: UUIDText.fresh(), text: text), to: chat())
        }
        let before = try await bob.log(of: "alice")
        // No more events about the texts follow.
        await bob.disappearing.look()
        let sides = [(alice, "bob", Listener(alice)), (bob, "alice", Listener(bob))]
        let old = try #require(try await alice.messageLogs().first?.value)
        world.clock.advance(by: .seconds(61))
        for (core, name, heard) in sides {
            await core.disappearing.look()
            try await heard.waits(for: "messageLogGrew")
            try await heard.waits(for: "textsGone")
            let log = try await core.log(of: name)
            #expect(log.count == before.count || core.profile != bob.profile)
            #expect(!String(decoding: log, as: UTF8.self).contains("secret"))
            let lines = try Line.all(log)
            #expect(lines.map(\.text) == ["before", nil, "after"] && lines[1].event == "disappeared")
            // Size and modification time reveal the change.
            let new = try #require(try await core.messageLogs().first?.value)
            #expect(new.modified > old.modified && (new.size == old.size || core.profile != alice.profile))
        }
        await alice.shutDown()
        await bob.shutDown()
    }

    /// With the machine's clock, as in a mount.
    @Test func runningProcessDeletesExpiredMessages() async throws {
        let directory = try DataDirectory(world.folder.path("data"))
        let core = try await EmbeddedCore.open(directory, profile: "alice")
        let notes = try await core.chat(named: "Saved notes")
        try directory.setTimeToLive(.seconds(1), in: notes, of: alice)
        _ = try await core.send(try core.compose([1, 2, 3]), to: notes)
        try await wait(until: "the note has disappeared") {
            try await count(of: "Saved notes", in: core) == 0
        }
        await core.shutDown()
    }
}
