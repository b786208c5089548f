import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// The state after a crash at every step from the first byte to the last record. A crash is a copy of all folders and
/// the core's state, taken within the step; a new outbox opens the copy.
@Suite struct CrashTests {
    static let bytes = pattern(100_000)

    /// The state after a crash.
    struct Remains: Sendable {
        let folder: TemporaryFolder
        let sent: [RecordingCore.Sent]

        init(of folder: TemporaryFolder, _ core: RecordingCore) throws {
            sent = core.sent
            self.folder = try TemporaryFolder()
            for name in try folder.names() {
                try copyFolder(folder.path(name), to: self.folder.path(name))
            }
        }

        func reopen(boot: String = "first boot") throws -> Workbench {
            let core = try RecordingCore(stagingFolder: folder.path("staging"), sent: sent)
            return try Workbench(in: folder, core: core, boot: boot)
        }
    }

    /// Sends one file and returns the state of a crash at `step`.
    private func crash(at step: OutboxStep) async throws -> Remains {
        let folder = try TemporaryFolder()
        let core = try RecordingCore(stagingFolder: folder.path("staging"))
        let remains = Lock<Remains?>(nil)
        let bench = try Workbench(in: folder, core: core) { reached in
            guard reached == step else { return }
            do {
                let copy = try Remains(of: folder, core)
                remains.withLock { $0 = copy }
            } catch {
                Issue.record(error)
            }
        }
        try bench.write(Self.bytes, to: "a.bin")
        bench.beQuiet()
        _ = try await bench.messages(1)
        return try await wait(for: "the crash") { remains.withLock { $0 } }
    }

    private func expectOneMessage(_ bench: Workbench) async throws {
        let sent = try await bench.replayed(1)
        #expect(sent.map(\.bytes) == [Self.bytes])
        try await bench.changes { if case .became = $0 { true } else { false } }
        bench.clock.advance(by: .seconds(100))
        try await bench.settle()
        #expect(bench.core.sent.filter { $0.item.chat == alice }.count == 1)
        for draft in bench.outbox.drafts() { try bench.outbox.acknowledge(draft) }
        #expect(try bench.folder.names(in: "outbox/spool").isEmpty)
        #expect(try bench.folder.names(in: "staging").isEmpty)
    }

    @Test(arguments: [OutboxStep.staged, .queued, .handedOver, .noted])
    func closedFileIsSentOnceAfterAnyCrash(step: OutboxStep) async throws {
        try await expectOneMessage(try await crash(at: step).reopen())
    }

    @Test(arguments: [OutboxStep.queued, .handedOver, .noted])
    func queuedFileSurvivesPowerCut(step: OutboxStep) async throws {
        try await expectOneMessage(try await crash(at: step).reopen(boot: "next boot"))
    }

    @Test(arguments: [0, 20_000, nil])
    func powerCutSparesTheBytesOfQueuedDrafts(length: Int?) async throws {
        let remains = try await crash(at: .queued)
        let file = try #require(try remains.folder.names(in: "outbox/spool").first)
        let path = remains.folder.path("outbox/spool/\(file)")
        // The spool file was never synchronised.
        if let length { truncate(path, length) } else { unlink(path) }
        let core = try RecordingCore(stagingFolder: remains.folder.path("staging"), sent: remains.sent)
        let next = try Workbench(in: remains.folder, core: core, boot: "next boot", starts: false)
        let draft = try #require(next.outbox.drafts().first)
        #expect(draft.state == .queued)
        try draft.opened(for: .reading)
        #expect(try next.content(of: draft) == Self.bytes)
        draft.closed(for: .reading)
        next.outbox.start()
        try await expectOneMessage(next)
    }

    @Test func lostBlocksOfQueuedDraftsAreRestored() async throws {
        let remains = try await crash(at: .queued)
        try loseBlocks(of: remains)
        let core = try RecordingCore(stagingFolder: remains.folder.path("staging"), sent: remains.sent)
        let next = try Workbench(in: remains.folder, core: core, boot: "next boot", starts: false)
        let draft = try #require(next.outbox.drafts().first)
        try draft.opened(for: .reading)
        #expect(try next.content(of: draft) == Self.bytes)
        draft.closed(for: .reading)
        next.outbox.start()
        try await expectOneMessage(next)
    }

    @Test(arguments: [OutboxStep.queued, .handedOver, .noted])
    func lostBlocksOfDraftsThatTheCoreTookAreNotServed(step: OutboxStep) async throws {
        let remains = try await crash(at: step)
        try loseBlocks(of: remains)
        try PrivateFolder.removeContents(
            of: OpenFile(remains.folder.path("staging"), flags: O_RDONLY | O_DIRECTORY), keeping: [])
        let core = try RecordingCore(stagingFolder: remains.folder.path("staging"), sent: remains.sent)
        let next = try Workbench(in: remains.folder, core: core, boot: "next boot", starts: false)
        let draft = try #require(next.outbox.drafts().first)
        #expect(fails(.damaged) { try draft.opened(for: .reading) })
        #expect(fails(.damaged) { try draft.opened(for: .writing) })
        next.outbox.start()
        guard step == .queued else { return try await expectOneMessage(next) }
        // The core did not take it: the copy was lost.
        _ = try await wait(for: "the failure") { [.failed, .unsure].contains(draft.state) ? true : nil }
        try draft.opened(for: .reading)
        #expect(fails(.damaged) { _ = try next.content(of: draft) })
        draft.closed(for: .reading)
        await next.outbox.shutDown()
    }

    /// The file keeps its length, but none of its blocks reached the disk.
    private func loseBlocks(of remains: Remains) throws {
        for name in try remains.folder.names(in: "outbox/spool") {
            let path = "outbox/spool/" + name
            try remains.folder.write(
                [UInt8](repeating: 0, count: remains.folder.read(path).count), to: path)
        }
    }

    @Test func coreDyingBeforeReplySendsOnce() async throws {
        let folder = try TemporaryFolder()
        let core = try RecordingCore(stagingFolder: folder.path("staging"))
        let remains = Lock<Remains?>(nil)
        core.state.withLock { state in
            state.afterStoring = {
                let copy = try? Remains(of: folder, core)
                remains.withLock { $0 = copy }
            }
        }
        // Breaks the reference cycle between folder and core.
        defer { core.state.withLock { $0.afterStoring = nil } }
        let bench = try Workbench(in: folder, core: core)
        try bench.write(Self.bytes, to: "a.bin")
        bench.beQuiet()
        _ = try await bench.messages(1)
        let left = try await wait(for: "the crash") { remains.withLock { $0 } }
        #expect(left.sent.count == 1)
        try await expectOneMessage(try left.reopen())
    }

    @Test func closedFileIsSentAfterKill() async throws {
        let bench = try Workbench()
        try bench.write(Self.bytes, to: "a.bin")
        try await expectOneMessage(try Remains(of: bench.folder, bench.core).reopen())
    }

    @Test func unsynchronisedFileIsNotTrustedAfterPowerCut() async throws {
        let bench = try Workbench()
        let durable = try bench.outbox.create(name: name("durable"), in: alice)
        try Self.bytes.withUnsafeBytes { try durable.write($0, at: 0) }
        try durable.synchronise()
        durable.closed(for: .writing)
        try bench.write([1, 2], to: "hasty")
        let next = try Remains(of: bench.folder, bench.core).reopen(boot: "next boot")
        #expect(try await next.replayed(1).map(\.bytes) == [Self.bytes])
        let left = next.outbox.drafts().first { $0.state == .recovered }
        #expect(left?.snapshot.name == name("hasty"))
    }

    @Test func unfinishedFileIsRecoveredNotSent() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("half.bin"), in: alice)
        try Self.bytes.withUnsafeBytes { try draft.write($0, at: 0) }
        _ = try bench.outbox.create(name: name("nothing in it"), in: alice)
        let next = try Remains(of: bench.folder, bench.core).reopen()
        #expect(next.states() == [.recovered])
        let found = next.outbox.drafts()[0]
        #expect(found.id == draft.id)
        #expect(found.snapshot.name == name("half.bin"))
        #expect(found.snapshot.problem != nil)
        try found.opened(for: .reading)
        #expect(try next.content(of: found) == Self.bytes)
        found.closed(for: .reading)
        #expect(fails(.notPermitted) { try found.opened(for: .writing) })
        // Its name is free, so the writer copies it again.
        try next.write([1], to: "half.bin")
        next.beQuiet()
        #expect(try await next.messages(1).map(\.bytes) == [[1]])
        next.clock.advance(by: .seconds(100 * 86_400))
        #expect(found.state == .recovered)
        try next.outbox.remove(found)
        #expect(!next.outbox.drafts().contains(found))
    }

    @Test(
        "a kill during a write keeps earlier writes"
    )
    func killedWithinAWrite() async throws {
        let bench = try Workbench()
        for (file, bytes) in [("long.bin", Self.bytes), ("short.bin", Array(Self.bytes.prefix(20_000)))] {
            let draft = try bench.outbox.create(name: name(file), in: alice)
            try bytes.withUnsafeBytes { try draft.write($0, at: 0) }
        }
        let remains = try Remains(of: bench.folder, bench.core)
        // The kernel had written whole pages of the last write.
        for file in try remains.folder.names(in: "outbox/spool") {
            let bytes = try remains.folder.read("outbox/spool/" + file)
            try remains.folder.write(
                Array(bytes.dropLast(4096 + bytes.count % 4096)), to: "outbox/spool/" + file)
        }
        let next = try remains.reopen()
        #expect(next.states() == [.recovered])
        let found = next.outbox.drafts()[0]
        #expect(found.snapshot.name == name("long.bin") && found.snapshot.size == 65_536)
        #expect(try next.content(of: found) == Array(Self.bytes.prefix(65_536)))
        await next.outbox.shutDown()
        next.outbox.close()
        // From now on a damaged end counts as damage, not as truncation.
        let file = try #require(try remains.folder.names(in: "outbox/spool").first)
        var bytes = try remains.folder.read("outbox/spool/" + file)
        bytes[bytes.count - 1] ^= 1
        try remains.folder.write(bytes, to: "outbox/spool/" + file)
        let last = try remains.reopen()
        #expect(last.outbox.drafts()[0].snapshot.size == 65_536)
        #expect(throws: (any Error).self) { try last.content(of: last.outbox.drafts()[0]) }
    }

    /// Too many open files, for example, says nothing about the file.
    @Test func unopenableUnfinishedFileIsKept() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("half.bin"), in: alice)
        try Self.bytes.withUnsafeBytes { try draft.write($0, at: 0) }
        let remains = try Remains(of: bench.folder, bench.core)
        let spool = remains.folder.path("outbox/spool")
        let file = "\(spool)/\(try remains.folder.names(in: "outbox/spool")[0])"
        // A link is not followed; opening it fails with another error than ENOENT, for root too.
        #expect(Glibc.rename(file, remains.folder.path("aside")) == 0)
        #expect(symlink(remains.folder.path("aside"), file) == 0)
        let blind = try remains.reopen()
        #expect(blind.states() == [.recovered])
        #expect(blind.outbox.drafts()[0].snapshot.problem?.contains("cannot be read at present") == true)
        await blind.outbox.shutDown()
        blind.outbox.close()
        #expect(unlink(file) == 0 && Glibc.rename(remains.folder.path("aside"), file) == 0)
        let next = try remains.reopen()
        #expect(next.states() == [.recovered])
        #expect(try next.content(of: next.outbox.drafts()[0]) == Self.bytes)
    }

    @Test func missingUnfinishedFileIsForgotten() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("half.bin"), in: alice)
        try Self.bytes.withUnsafeBytes { try draft.write($0, at: 0) }
        let remains = try Remains(of: bench.folder, bench.core)
        let spool = try remains.folder.names(in: "outbox/spool")[0]
        #expect(unlink(remains.folder.path("outbox/spool/\(spool)")) == 0)
        #expect(try remains.reopen().states().isEmpty)
    }

    @Test func synchronisedReplacementSurvivesPowerCut() async throws {
        let bench = try Workbench()
        let old = try bench.outbox.create(name: name("a"), in: alice)
        try old.write("old")
        try old.synchronise()
        old.closed(for: .writing)
        let new = try bench.write(Array("new".utf8), to: "a.part")
        try bench.outbox.rename(new, to: name("a"))
        let next = try Remains(of: bench.folder, bench.core).reopen(boot: "next boot")
        #expect(try await next.replayed(1).map(\.bytes) == [Array("new".utf8)])
    }

    @Test func draftBytesAreEncryptedOnDisk() throws {
        let bench = try Workbench()
        let secret = Array("attack at dawn".utf8)
        let draft = try bench.outbox.create(name: name("plan.txt"), in: alice)
        try secret.withUnsafeBytes { try draft.write($0, at: 0) }
        for file in try bench.folder.names(in: "outbox/spool") {
            let bytes = try bench.folder.read("outbox/spool/" + file)
            #expect(!bytes.indices.contains { bytes[$0...].starts(with: secret) })
        }
    }

    @Test func newerJournalIsRefusedUntouched() async throws {
        let bench = try Workbench()
        try bench.write([1], to: "a")
        let remains = try Remains(of: bench.folder, bench.core)
        let journal = remains.folder.path("outbox/journal.sqlite")
        let newer = try await Shell.run(
            "python3",
            [
                "-c",
                "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); "
                    + "c.execute(\"INSERT INTO schema_version VALUES (9, 'later')\"); c.commit()",
                journal,
            ])
        #expect(newer.succeeded, "\(newer.errors)")
        #expect(fails(.wrongVersion) { _ = try remains.reopen() })
        #expect(try remains.folder.names(in: "outbox/spool").count == 1)
    }
}
