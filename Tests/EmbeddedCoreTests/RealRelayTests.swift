import Base
import ChatCore
import Glibc
import Network
import Posix
import TestSupport
import Testing
import XFTP
import XFTPRelay

@testable import EmbeddedCore

/// The core with our relay on 127.0.0.1.
@Suite struct RealRelayTests {
    private let folder: TemporaryFolder
    private let directory: DataDirectory

    init() throws {
        folder = try TemporaryFolder()
        directory = try DataDirectory(folder.path("data"))
        for name in ["alice", "bob"] { _ = try directory.createProfile(name) }
        try directory.connect("alice", "bob")
    }

    private func relay(password: String? = nil) async throws -> Relay {
        let settings = RelaySettings(folder: folder.path("relay"), password: password)
        return try await ThreadPool.shared.run { () throws(RelayError) in try Relay.start(settings) }
    }

    private func open(_ name: String, _ relays: [RelayAddress]) async throws -> EmbeddedCore {
        try await EmbeddedCore.open(
            try DataDirectory(folder.path("data")), profile: name, mountpoint: nil,
            relays: relays.map(RelayWithPassword.init), transfers: nil,
            retry: RetryPolicy(first: .milliseconds(50), maxDelay: .milliseconds(200), tries: .max))
    }

    @Test(arguments: [261_121, 5_500_000])
    func fileRoundTripsThroughRelay(size: Int) async throws {
        let relay = try await relay(password: "secret")
        let address = RelayAddress(
            fingerprint: relay.address.fingerprint, hosts: relay.address.hosts, port: relay.address.port,
            password: "secret")
        let alice = try await open("alice", [address])
        let bob = try await open("bob", [relay.address])
        let heard = Listener(bob)
        let sent = try await alice.send(try alice.compose(pattern(size)), to: alice.chat(named: "bob"))
        try await heard.waits(for: "rcvFileDescrReady")
        let offer = try await bob.newest(in: "alice")
        let file = try #require(offer.file).id
        let claim = try #require(try await bob.claimFile(file, approvedRelays: false))
        #expect(!claim.description.contains("secret"))
        await bob.abandonClaim(file, problem: nil)
        try await bob.receiveFile(file, approvedRelays: false)
        try await heard.waits(for: "rcvFileComplete")
        #expect(try await bob.newest(in: "alice").content() == pattern(size))
        #expect(heard.names.contains("fileProgress"))
        #expect(relay.storedBytes > 0)
        try await alice.cancelFile(try #require(sent.file).id)
        try await wait(until: "the relay is empty") { relay.storedBytes == 0 }
        await alice.shutDown()
        await bob.shutDown()
        await relay.stop()
    }

    @Test(arguments: [300_000, 5_500_000])
    func stagedStreamIsSentAsItIs(size: Int) async throws {
        let relay = try await relay()
        let alice = try await open("alice", [relay.address])
        let bob = try await open("bob", [relay.address])
        let heard = Listener(bob)
        let chat = try await alice.chat(named: "bob")
        let message = try alice.composeStream(
            pattern(size), #require(alice.streamForm(for: chat, name: "a.bin")))
        let sent = try await alice.send(message, to: chat)
        #expect(try sent.content() == pattern(size))
        try await heard.waits(for: "rcvFileDescrReady")
        let file = try #require(try await bob.newest(in: "alice").file).id
        let claim = try #require(try await bob.claimFile(file, approvedRelays: false))
        let key = Base64URL.encode(message.source.arguments?.key ?? [])
        #expect(claim.description.contains(key), "it is not encrypted again")
        await bob.abandonClaim(file, problem: nil)
        try await bob.receiveFile(file, approvedRelays: false)
        try await heard.waits(for: "rcvFileComplete")
        #expect(try await bob.newest(in: "alice").content() == pattern(size))
        await alice.shutDown()
        await bob.shutDown()
        await relay.stop()
    }

    @Test func notesAreStagedWithoutHeader() async throws {
        let alice = try await open("alice", [])
        #expect(alice.streamForm(for: .notes(1), name: "a.bin")?.header(0) == nil)
        await alice.shutDown()
    }

    @Test func uploadReachesPrivateRelayAddedLater() async throws {
        let relay = try await relay()
        let alice = try await open("alice", [])
        let heard = Listener(alice)
        // Like 'chatfs relay add' while mounted.
        try directory.addRelays([relay.address], to: alice.profile)
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        try await wait(until: "the upload has ended") {
            heard.names.contains { ["sndFileComplete", "sndFileError"].contains($0) }
        }
        #expect(heard.names.contains("sndFileComplete"))
        await alice.shutDown()
        await relay.stop()
    }

    @Test func uploadWaitsForUnreachableRelay() async throws {
        var relay = try await relay()
        let address = relay.address
        await relay.stop()
        let alice = try await open("alice", [address])
        let heard = Listener(alice)
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        try await heard.waits(for: "sndFileWarning")
        relay = try await self.relay()
        if relay.address == address { try await heard.waits(for: "sndFileComplete") }
        await alice.shutDown()
        await relay.stop()
    }

    @Test func wrongPasswordIsFinalError() async throws {
        let relay = try await relay(password: "secret")
        let alice = try await open("alice", [relay.address])
        let heard = Listener(alice)
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        try await heard.waits(for: "sndFileError")
        guard case .sndError(let problem) = try await alice.newest(in: "bob").file?.status else {
            Issue.record("no error")
            return
        }
        #expect(!problem.sentence.contains("secret"))
        await alice.shutDown()
        await relay.stop()
    }

    @Test func damagedFileIsNeverAnnounced() async throws {
        let relay = try await relay()
        let alice = try await open("alice", [relay.address])
        let bob = try await open("bob", [relay.address])
        let message = try alice.compose(pattern(9_000_000))
        let staged = try OpenFile(message.source.path, flags: O_RDWR)
        let byte = try staged.read(count: 1, at: 6_000_000)
        try staged.write([byte[0] ^ 1], at: 6_000_000)
        _ = try await alice.send(message, to: try await alice.chat(named: "bob"))
        let sent = try await alice.item(in: "bob") { if case .sndError = $0 { true } else { false } }
        guard case .sndError(let problem) = sent.file?.status else { return }
        #expect(problem.kind == .damaged)
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: false))
        try await wait(until: "the relay has nothing of it") {
            relay.storedBytes == 0
        }
        await alice.shutDown()
        await bob.shutDown()
        await relay.stop()
    }

    @Test(arguments: [1000, 3_000_000])
    func standaloneFileTravelsByLink(size: Int) async throws {
        let relay = try await relay()
        let alice = try await open("alice", [relay.address])
        let bob = try await open("bob", [relay.address])
        let (heardByAlice, heardByBob) = (Listener(alice), Listener(bob))
        try folder.write(pattern(size), to: "original.bin")
        let uploaded = try await alice.uploadStandaloneFile(folder.path("original.bin"))
        try await heardByAlice.waits(for: "sndStandaloneFileComplete")
        let link = heardByAlice.events.withLock { events -> String? in
            for case .sndStandaloneFileComplete(uploaded, let links) in events { return links.first }
            return nil
        }
        let text = try #require(link)
        let info = try await bob.standaloneFileInfo(text)
        #expect(info.encryptedSize >= UInt64(size))
        #expect(info.relays == [relay.address.text])
        _ = try await bob.downloadStandaloneFile(text, to: folder.path("copy.bin"))
        try await heardByBob.waits(for: "rcvStandaloneFileComplete")
        #expect(try folder.read("copy.bin") == pattern(size))
        #expect(
            await refusal { try await bob.downloadStandaloneFile(text, to: folder.path("copy.bin")) }?.code
                == .invalidCommand)
        #expect(
            await refusal { try await bob.standaloneFileInfo("simplex:/file#/?desc=x") }?.code
                == .file(.damaged))
        try await alice.cancelFile(uploaded)
        try await wait(until: "the relay has nothing of it, nor of what its link led to") {
            relay.storedBytes == 0
        }
        await alice.shutDown()
        await bob.shutDown()
        await relay.stop()
    }

    @Test func uploadResumesAfterKill() async throws {
        let relay = try await relay()
        let content = pattern(24_000_000)
        try folder.write(content, to: "big.bin")
        let sender = try await ChatFSProcess.start([
            "send", folder.path("big.bin"), "bob", "--data", folder.path("data"), "--profile", "alice",
            "--relay", relay.address.text,
        ])
        try await wait(until: "some of it is sent: \(sender.errors)") {
            sender.errors.contains("Sending: 1") || !sender.isRunning
        }
        sender.send(SIGKILL)
        _ = try await sender.ending()
        let alice = try await open("alice", [])
        let bob = try await open("bob", [relay.address])
        _ = try await alice.item(in: "bob") { $0 == .sndComplete }
        let items = try await bob.items(of: bob.chat(named: "alice"), before: nil, count: 9)
        #expect(items.count == 1)
        try await bob.receiveFile(try #require(items.first?.file).id, approvedRelays: false)
        let complete = try await bob.item(in: "alice") { $0 == .rcvComplete }
        #expect(try complete.content() == content)
        await alice.shutDown()
        await bob.shutDown()
        await relay.stop()
    }

    @Test func messageOfOtherProcessArrives() async throws {
        let bob = try await open("bob", [])
        let heard = Listener(bob)
        try folder.write(pattern(70_000), to: "note.txt")
        for number in 1...3 {
            let outcome = try await ChatFSProcess.run([
                "send", folder.path("note.txt"), "bob", "--caption", "number \(number)", "--data",
                folder.path("data"), "--profile", "alice",
            ])
            #expect(outcome.errors.isEmpty)
            try await heard.waits(for: "rcvFileComplete", times: number)
            let item = try await bob.newest(in: "alice")
            #expect(item.content.text == "number \(number)")
            #expect(try item.content() == pattern(70_000))
        }
        // Conversely, other processes cannot open this process's profile.
        let refused = try await ChatFSProcess.run([
            "send", folder.path("note.txt"), "alice", "--data", folder.path("data"), "--profile", "bob",
        ])
        #expect(refused.errors.contains("in use by process \(getpid())"))
        await bob.shutDown()
    }
}
