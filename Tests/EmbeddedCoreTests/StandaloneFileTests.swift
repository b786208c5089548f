import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import EmbeddedCore

/// Standalone files, uploaded for a link or downloaded from one.
@Suite struct StandaloneFileTests {
    private let world: World
    private let files: TemporaryFolder
    private var relay: MemoryRelay { world.relay }

    init() throws {
        world = try World()
        files = try TemporaryFolder()
    }

    private func rows() throws -> Int64 {
        try world.database().read {
            try $0.first("SELECT count(*) AS count FROM file") { $0.integer("count") } ?? 0
        }
    }

    private func outcome(_ core: EmbeddedCore, _ file: FileID) async throws -> StandaloneOutcome {
        try await wait(for: "what becomes of the upload") {
            try await core.outcomeOfStandaloneUpload(file)
        }
    }

    private func link(_ core: EmbeddedCore, _ bytes: [UInt8], named name: String = "a.bin") async throws
        -> String
    {
        let file = try await core.uploadStandaloneFile(try files.write(bytes, to: name))
        guard case .link(let link) = try await outcome(core, file) else {
            Issue.record("it was not uploaded")
            return ""
        }
        return link
    }

    @Test(arguments: [0, 1, 250_000])
    func linkTransfersFile(size: Int) async throws {
        let bytes = pattern(size)
        let alice = try await world.open("alice")
        let text = try await link(alice, bytes)
        let bob = try await world.open("bob")
        let heard = Listener(bob)
        _ = try await bob.downloadStandaloneFile(text, to: files.path("copy"))
        try await heard.waits(for: "rcvStandaloneFileComplete")
        #expect(try files.read("copy") == bytes)
        let left = try rows()
        #expect(left == 1, "of the download nothing stays; the upload can be taken back")
        #expect(try await bob.chats().count == 1)
        #expect(try await bob.itemCount() == 0)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func invalidUploadIsRejectedAtOnce() async throws {
        let alice = try await world.open("alice")
        try #require(mkfifo(files.path("pipe"), 0o600) == 0)
        for path in [files.path, files.path("pipe"), "/dev/null"] {
            let error = await refusal { try await alice.uploadStandaloneFile(path) }
            #expect(error?.code == .invalidCommand, "\(path)")
            #expect(error?.sentence == "Only a regular file can be uploaded.")
        }
        let missing = await refusal { try await alice.uploadStandaloneFile(files.path("nothing")) }
        #expect(missing?.sentence.contains("No such file") == true)
        await alice.shutDown()
        let bob = try await world.open("bob", relays: [])
        let path = try files.write([1], to: "a")
        let error = await refusal { try await bob.uploadStandaloneFile(path) }
        #expect(error?.code == .file(.noRelay))
        #expect(try rows() == 0 && relay.state.withLock { $0.uploadsBegun } == 0)
        await bob.shutDown()
    }

    /// Like `Links`, which repeats a request of unknown outcome.
    @Test func repeatedUploadOfCryptoFileIsOne() async throws {
        let alice = try await world.open("alice")
        let bytes = pattern(150_000)
        let message = try alice.compose(bytes)
        let first = try await alice.uploadStandaloneFile(message.source, named: "a.pdf")
        for _ in 0..<3 {
            #expect(try await alice.uploadStandaloneFile(message.source, named: "a.pdf") == first)
        }
        guard case .link(let text) = try await outcome(alice, first) else {
            Issue.record("it was not uploaded")
            return
        }
        #expect(try await alice.uploadStandaloneFile(message.source, named: "a.pdf") == first)
        #expect(try await outcome(alice, first) == .link(text))
        #expect(relay.state.withLock { $0.uploadsBegun } == 1)
        #expect(relay.state.withLock { $0.files.values.contains(bytes) })
        // A missing key or file leaves no upload.
        for source in [
            FileSourceLocation(path: message.source.path, arguments: nil),
            FileSourceLocation(path: files.path("nothing"), arguments: message.source.arguments),
        ] {
            #expect(await refusal { try await alice.uploadStandaloneFile(source, named: "x") } != nil)
        }
        #expect(symlink(message.source.path, files.path("symlink")) == 0)
        let followed = FileSourceLocation(
            path: files.path("symlink"), arguments: message.source.arguments)
        #expect(await refusal { try await alice.uploadStandaloneFile(followed, named: "x") } != nil)
        await alice.shutDown()
    }

    @Test func standaloneUploadResumesInNextProcess() async throws {
        relay.state.withLock { ($0.allowance, $0.waits) = (2, true) }
        let bytes = pattern(500_000)
        let path = try files.write(bytes, to: "large")
        var alice = try await world.open("alice")
        let file = try await alice.uploadStandaloneFile(path)
        try await wait(until: "two steps are sent") { relay.state.withLock { $0.stepsSent } == 2 }
        #expect(try await alice.outcomeOfStandaloneUpload(file) == nil)
        await alice.shutDown()
        relay.state.withLock { ($0.allowance, $0.waits) = (.max, false) }
        alice = try await world.open("alice")
        guard case .link = try await outcome(alice, file) else {
            Issue.record("it was not uploaded")
            return
        }
        #expect(relay.state.withLock { $0.stepsSent } == 5, "nothing is sent twice")
        #expect(relay.state.withLock { $0.files.values.contains(bytes) })
        await alice.shutDown()
    }

    @Test func standaloneUploadRetriesOnlyTemporaryErrors() async throws {
        let alice = try await world.open("alice")
        let heard = Listener(alice)
        relay.state.withLock { $0.allowance = 0 }
        let first = try await alice.uploadStandaloneFile(try files.write(pattern(1000), to: "a"))
        try await heard.waits(for: "standaloneFileWarning", times: 2)
        #expect(try await alice.outcomeOfStandaloneUpload(first) == nil)
        relay.state.withLock { $0.allowance = .max }
        guard case .link = try await outcome(alice, first) else {
            Issue.record("it was not uploaded")
            return
        }
        relay.state.withLock { state in
            state.allowance = 0
            state.failure = TransferFailure(
                problem: FileProblem(.relayFull, "The relay is full."), isTemporary: false)
        }
        let second = try await alice.uploadStandaloneFile(try files.write(pattern(1000), to: "b"))
        #expect(
            try await outcome(alice, second) == .failed(FileProblem(.relayFull, "The relay is full.")))
        try await heard.waits(for: "sndStandaloneFileError")
        await alice.shutDown()
    }

    @Test func cancellingDeletesChunksEvenWhenComplete() async throws {
        let alice = try await world.open("alice")
        let done = try await alice.uploadStandaloneFile(try files.write(pattern(1000), to: "a"))
        _ = try await outcome(alice, done)
        try await alice.cancelStandaloneFile(done)
        #expect(relay.state.withLock { $0.files.isEmpty && $0.deleted.count == 1 })
        relay.state.withLock { ($0.allowance, $0.waits) = (1, true) }
        let running = try await alice.uploadStandaloneFile(try files.write(pattern(300_000), to: "b"))
        try await wait(until: "a step is sent") {
            try world.database().read {
                try $0.exists("SELECT 1 FROM file WHERE upload_state IS NOT NULL")
            }
        }
        try await alice.cancelStandaloneFile(running)
        try await wait(until: "it is gone") { relay.state.withLock { $0.files.isEmpty } }
        for file in [done, running, FileID(999)] {
            #expect(await refusal { try await alice.cancelStandaloneFile(file) }?.code == .noSuchFile)
            #expect(await refusal { try await alice.outcomeOfStandaloneUpload(file) }?.code == .noSuchFile)
        }
        #expect(try rows() == 0)
        await alice.shutDown()
    }

    /// Ids of chat files and other profiles' files are rejected.
    @Test func standaloneCancelRejectsChatFiles() async throws {
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        let sent = try await alice.send(alice.compose(pattern(10)), to: chat)
        let ofMessage = try #require(sent.file?.id)
        let own = try await alice.uploadStandaloneFile(try files.write([1], to: "a"))
        _ = try await outcome(alice, own)
        let bob = try await world.open("bob")
        for (core, file) in [(alice, ofMessage), (bob, own)] {
            #expect(await refusal { try await core.cancelStandaloneFile(file) }?.code == .noSuchFile)
            #expect(await refusal { try await core.outcomeOfStandaloneUpload(file) }?.code == .noSuchFile)
        }
        guard case .link = try await outcome(alice, own) else {
            Issue.record("it is gone")
            return
        }
        #expect(try await alice.item(sent.id, in: chat).file?.id == ofMessage)
        await alice.shutDown()
        await bob.shutDown()
    }

    // MARK: - Downloads

    @Test func invalidLinkOrTargetIsRejected() async throws {
        let alice = try await world.open("alice")
        let text = try await link(alice, pattern(100))
        for nonsense in ["", "https://example.org/", "simplex:/file#/?desc=x", String(text.dropLast(40))] {
            #expect(
                await refusal { try await alice.downloadStandaloneFile(nonsense, to: files.path("x")) }
                    != nil, "\(nonsense.count) characters")
        }
        #expect(symlink(files.path("nowhere"), files.path("dangling")) == 0)
        for taken in [files.path("a.bin"), files.path, files.path("dangling")] {
            let error = await refusal { try await alice.downloadStandaloneFile(text, to: taken) }
            #expect(error?.code == .invalidCommand, "\(taken)")
        }
        #expect(try files.read("a.bin") == pattern(100))
        #expect(try rows() == 1 && relay.state.withLock { $0.downloads } == 0)
        await alice.shutDown()
    }

    @Test func standaloneDownloadRetriesOnlyTemporaryErrors() async throws {
        let alice = try await world.open("alice")
        let heard = Listener(alice)
        let text = try await link(alice, pattern(100))
        let away = TransferFailure(problem: FileProblem(.unreachable, "Away."), isTemporary: true)
        relay.state.withLock { $0.downloadFailures = [away, away] }
        _ = try await alice.downloadStandaloneFile(text, to: files.path("x"))
        try await heard.waits(for: "rcvStandaloneFileComplete")
        #expect(heard.names.count { $0 == "standaloneFileWarning" } == 2)
        #expect(try files.read("x") == pattern(100))
        relay.state.withLock { $0.files = [:] }
        _ = try await alice.downloadStandaloneFile(text, to: files.path("y"))
        try await heard.waits(for: "rcvStandaloneFileError")
        #expect(access(files.path("y"), F_OK) != 0)
        #expect(try rows() == 1, "that of the upload")
        await alice.shutDown()
    }

    @Test func standaloneDownloadEndsAtExpiry() async throws {
        let alice = try await world.open("alice")
        let heard = Listener(alice)
        let text = try await link(alice, pattern(100))
        let away = TransferFailure(problem: FileProblem(.unreachable, "Away."), isTemporary: true)
        relay.state.withLock { $0.downloadFailures = [TransferFailure](repeating: away, count: 100_000) }
        _ = try await alice.downloadStandaloneFile(text, to: files.path("x"))
        try await heard.waits(for: "standaloneFileWarning", times: 2)
        world.clock.advance(by: FilePolicy.relayRetention + .seconds(1))
        try await heard.waits(for: "rcvStandaloneFileError")
        relay.state.withLock { $0.downloadFailures = [] }
        #expect(try rows() == 1)
        await alice.shutDown()
    }

    @Test func onlyUncancelledDownloadResumesInNextProcess() async throws {
        var alice = try await world.open("alice")
        let text = try await link(alice, pattern(100))
        let away = TransferFailure(problem: FileProblem(.unreachable, "Away."), isTemporary: true)
        relay.state.withLock { $0.downloadFailures = [TransferFailure](repeating: away, count: 100_000) }
        let kept = try await alice.downloadStandaloneFile(text, to: files.path("kept"))
        let ended = try await alice.downloadStandaloneFile(text, to: files.path("ended"))
        #expect(kept != ended)
        try await alice.cancelStandaloneFile(ended)
        await alice.shutDown()
        #expect(try rows() == 2)
        relay.state.withLock { $0.downloadFailures = [] }
        alice = try await world.open("alice")
        try await wait(until: "it is there") { try rows() == 1 }
        #expect(try files.read("kept") == pattern(100))
        #expect(access(files.path("ended"), F_OK) != 0)
        await alice.shutDown()
    }

    @Test func linkInfoNeedsNoNetwork() async throws {
        let alice = try await world.open("alice")
        let text = try await link(alice, pattern(100))
        let downloads = relay.state.withLock { $0.downloads }
        let info = try await alice.standaloneFileInfo(text)
        #expect(info.encryptedSize == 65_536 && info.relays == [MemoryRelay.address])
        #expect(relay.state.withLock { $0.downloads } == downloads)
        #expect(await refusal { try await alice.standaloneFileInfo("simplex:/file#/?desc=x") } != nil)
        await alice.shutDown()
    }
}
