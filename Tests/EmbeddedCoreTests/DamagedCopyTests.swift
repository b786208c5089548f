import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

/// Handling of damaged local copies.
@Suite struct DamagedCopyTests {
    private let world: World
    private let bytes = pattern(300_000)

    init() throws {
        world = try World()
        try world.directory.connect("alice", "bob")
    }

    /// A file received by bob.
    /// - Parameter asStream: Whether it is kept as it came.
    private func received(
        asStream: Bool = false
    ) async throws -> (EmbeddedCore, EmbeddedCore, FileID, FileSourceLocation) {
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        _ = try await alice.send(try alice.compose(bytes), to: alice.chat(named: "bob"))
        let item = try await bob.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        let file = try #require(item.file).id
        _ = try await bob.claimFile(file, approvedRelays: false)
        let location = try await bob.completeClaim(
            file, staged: try asStream ? bob.stageStream(bytes) : bob.compose(bytes).source)
        return (alice, bob, file, location)
    }

    private func aside(_ core: EmbeddedCore) throws -> [String] {
        guard access(core.folder + "/damaged", F_OK) == 0 else { return [] }
        return try PrivateFolder.names(in: OpenFile(core.folder + "/damaged", flags: O_RDONLY))
    }

    private func salvaged(_ core: EmbeddedCore, _ file: FileID) throws -> [UInt8] {
        let copy = "\(core.folder)/damaged/\(file.rawValue)"
        let found = try world.directory.arguments(ofDamagedCopyOf: file, inProfile: core.profile.id)
        let arguments = try #require(found)
        let out = world.folder.path("out")
        #expect(try !CryptoFile.salvage(from: copy, to: out, arguments: arguments).isAuthentic)
        return try OpenFile(out, flags: O_RDONLY).readAll(limit: 1 << 20)
    }

    /// Changes three bytes of the content.
    private func damage(_ location: FileSourceLocation) throws {
        let start = location.arguments?.content?.lowerBound ?? 0
        try OpenFile(location.path, flags: O_RDWR).write([1, 2, 3], at: start + 100_000)
    }

    private func offered(_ answer: GivenUpCopy) -> ChatItem? {
        if case .offered(let item) = answer { item } else { nil }
    }

    @Test(arguments: [false, true])
    func damagedCopyIsKeptUntilGoodOneArrives(asStream: Bool) async throws {
        let (alice, bob, file, location) = try await received(asStream: asStream)
        let heard = Listener(bob)
        try damage(location)
        let item = try #require(offered(try await bob.giveUpCopy(of: file, at: location)))
        #expect(item.file?.status == .rcvInvitation(described: true) && item.file?.source == nil)
        try await heard.waits(for: "chatItemUpdated")
        #expect(try aside(bob) == ["\(file.rawValue)"])
        #expect(access(location.path, F_OK) != 0)
        let found = try salvaged(bob, file)
        #expect(found.count == bytes.count && found[..<100_000] == bytes[..<100_000])
        #expect(found[100_003...] == bytes[100_003...] && found != bytes)
        // A second report has the same effect.
        #expect(offered(try await bob.giveUpCopy(of: file, at: location)) == item)
        let claim = try #require(try await bob.claimFile(file, approvedRelays: false))
        #expect(claim.remains?.contains("--salvage") == true)
        let again = try await bob.completeClaim(file, staged: try bob.compose(bytes).source)
        #expect(again != location)
        #expect(try aside(bob) == [])
        #expect(try await bob.newest(in: "alice").content() == bytes)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test(arguments: [false, true])
    func redownloadUsesNewKey(asStream: Bool) async throws {
        let (alice, bob, file, location) = try await received(asStream: asStream)
        try damage(location)
        _ = try await bob.giveUpCopy(of: file, at: location)
        try await bob.receiveFile(file, approvedRelays: false)
        let item = try await bob.item(in: "alice") { $0 == .rcvComplete }
        #expect(try item.content() == bytes)
        #expect(item.file?.source?.arguments != location.arguments)
        #expect(item.file?.source?.arguments?.content == nil)
        #expect(try aside(bob) == [])
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func errorNamesDamagedCopyAfterRelayExpiry() async throws {
        let (alice, bob, file, location) = try await received()
        try damage(location)
        _ = try await bob.giveUpCopy(of: file, at: location)
        world.relay.state.withLock { $0.files = [:] }
        try await bob.receiveFile(file, approvedRelays: false)
        let item = try await bob.item(in: "alice") { if case .rcvError = $0 { true } else { false } }
        guard case .rcvError(let problem) = item.file?.status else { return }
        #expect(problem.kind == .expired)
        #expect(problem.sentence.contains("chatfs cryptofile decrypt --salvage \(bob.folder)/damaged/"))
        await bob.shutDown()
        // It survives restarts until its message is deleted.
        let next = try await world.open("bob")
        #expect(try aside(next).count == 1)
        #expect(try salvaged(next, file).count == bytes.count)
        try await next.deleteItems([item.id], in: item.chat, mode: .internal)
        #expect(try aside(next) == [])
        await alice.shutDown()
        await next.shutDown()
    }

    @Test func damagedSentFileIsLostButKept() async throws {
        let alice = try await world.open("alice")
        let item = try await alice.send(try alice.compose(bytes), to: alice.chat(named: "Saved notes"))
        let file = try #require(item.file)
        let location = try #require(file.source)
        try damage(location)
        guard case .lost(let problem) = try await alice.giveUpCopy(of: file.id, at: location) else {
            Issue.record("A note was offered.")
            return
        }
        #expect(problem.kind == .damaged && problem.sentence.contains("--salvage"))
        #expect(access(location.path, F_OK) == 0)
        #expect(try salvaged(alice, file.id).count == bytes.count)
        await alice.shutDown()
    }

    /// State of an earlier release.
    @Test func cleartextKeyOfCopyMovesToDatabase() async throws {
        let (alice, bob, file, location) = try await received()
        try damage(location)
        let arguments = try #require(location.arguments)
        _ = try await bob.giveUpCopy(of: file, at: location)
        try bob.store.commit { try $0.tables.directory.damagedCopies.remove(file) }
        let json = "\(bob.folder)/damaged/\(file.rawValue).json"
        try OpenFile(json, flags: O_WRONLY | O_CREAT, mode: 0o600).write(Array(arguments.text.utf8), at: 0)
        try OpenFile("\(bob.folder)/damaged/77.json", flags: O_WRONLY | O_CREAT, mode: 0o600)
            .write(Array("{".utf8), at: 0)
        // An open descriptor shows that the file was overwritten.
        let open = try OpenFile(json, flags: O_RDONLY)
        await bob.shutDown()
        let next = try await world.open("bob")
        #expect(try aside(next) == ["\(file.rawValue)"])
        #expect(try open.readAll(limit: 1000).allSatisfy { $0 == 0 })
        #expect(
            try world.directory.arguments(ofDamagedCopyOf: file, inProfile: next.profile.id) == arguments)
        #expect(try salvaged(next, file).count == bytes.count)
        await alice.shutDown()
        await next.shutDown()
    }

    @Test func missingCopyIsOfferedAgain() async throws {
        let (alice, bob, file, location) = try await received()
        unlink(location.path)
        #expect(offered(try await bob.giveUpCopy(of: file, at: location)) != nil)
        #expect(try aside(bob) == [])
        #expect(try #require(try await bob.claimFile(file, approvedRelays: false)).remains == nil)
        await alice.shutDown()
        await bob.shutDown()
    }
}
