import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Every descriptor of a file was closed once, and a later write fails: `{ cat a; cat b; } > file` on a disk that is
/// full at `b`. The row said that the draft is complete, but nothing may be sent.
@Suite struct FailedWriteTests {
    /// The first program closed its copy of the descriptor, the second failed to write.
    private func halfWritten(_ bench: Workbench, _ failing: (Draft) throws -> Void) throws -> Draft {
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("part")
        draft.flushed(.ofItsMaker, .finished)
        #expect(throws: OutboxError.self) { try failing(draft) }
        return draft
    }

    private static let failures: [@Sendable (Draft) throws -> Void] = [
        { try $0.write("x", at: 2_000_000) }, { try $0.truncate(to: 2_000_000) },
    ]

    private func expectNothingSent(_ bench: Workbench) async throws {
        for _ in 0..<3 { bench.beQuiet() }
        try await bench.settle()
        #expect(!bench.core.sent.contains { $0.message.fileName == "a" })
    }

    @Test(arguments: failures.indices)
    func failedWriteIsNotSentAfterKill(number: Int) async throws {
        let bench = try Workbench()
        let draft = try halfWritten(bench, Self.failures[number])
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        #expect(next.states() == [.recovered])
        try await expectNothingSent(next)
        // Nor without an opening.
        draft.closed(.ofItsMaker)
        try await expectNothingSent(bench)
        #expect(draft.snapshot.problem?.contains("incomplete") == true)
    }

    /// The row cannot be written either, as on a full disk, until the process ends or is killed.
    @Test(arguments: [false, true])
    func norIfItsRowWasNotWritten(isKilled: Bool) async throws {
        let bench = try Workbench()
        let draft = try halfWritten(bench) { draft in
            try bench.refuseRows()
            try draft.write(" and more", at: 4)
        }
        draft.flushed(.ofItsMaker, .finished)
        draft.closed(.ofItsMaker)
        bench.beQuiet()
        if !isKilled { await bench.outbox.shutDown() }
        #expect(draft.snapshot.problem?.contains("incomplete") == true)
        try bench.acceptRows()
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        // Pending work of the first process may have written the row; the draft then stays incomplete.
        #expect([[.recovered], [.draft]].contains(next.states()))
        try await expectNothingSent(next)
    }

    /// As above, but the shell is killed before the second program writes: `{ cat a; cat b; } > file` and Ctrl-C.
    @Test(arguments: [false, true])
    func norIfItsWriterWasKilled(isKilled: Bool) async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("part")
        draft.flushed(.ofItsMaker, .finished)
        try bench.refuseRows()
        draft.flushed(.ofItsMaker, .killed)
        draft.closed(.ofItsMaker)
        bench.beQuiet()
        if !isKilled { await bench.outbox.shutDown() }
        #expect(draft.snapshot.problem?.contains("was killed") == true)
        try bench.acceptRows()
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        #expect([[.recovered], [.draft]].contains(next.states()))
        try await expectNothingSent(next)
    }

    @Test func rewrittenFileIsSentAfterKill() async throws {
        let bench = try Workbench()
        let draft = try halfWritten(bench) { draft in
            try bench.refuseRows()
            try draft.write(" and more", at: 4)
        }
        try bench.acceptRows()
        draft.closed(.ofItsMaker)
        let again = try draft.opened(for: .writing)
        try draft.truncate(to: 0)
        try draft.write("whole")
        draft.flushed(again, .finished)
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        #expect(try await next.replayed(1).map(\.bytes) == [Array("whole".utf8)])
    }

    /// After a failed fsync another one succeeds without a write.
    @Test func failedFsyncFailsAgainUntilRewritten() throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("unwritten")
        let file = try spoolDescriptor(in: bench.folder)
        let kept = dup(file)
        defer { close(kept) }
        // Its fsync fails.
        let device = try OpenFile("/dev/null", flags: O_RDWR)
        dup2(device.descriptor, file)
        #expect(throws: OutboxError.self) { try draft.synchronise() }
        dup2(kept, file)
        #expect(throws: OutboxError.self) { try draft.synchronise() }
        #expect(!draft.machine.record.isDurable)
        try draft.truncate(to: 0)
        try draft.write("written")
        try draft.synchronise()
        #expect(draft.machine.record.isDurable)
        draft.closed(.ofItsMaker)
    }

    /// Shortening a block that an fsync has kept calls fsync for its new version.
    @Test func truncationNoticesAFailedFsync() throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("kept")
        try draft.synchronise()
        try draft.write("new", at: 1)
        try draft.synchronise()
        try draft.write("kept again")
        let file = try spoolDescriptor(in: bench.folder, suffix: ".second")
        let kept = dup(file)
        defer { close(kept) }
        let device = try OpenFile("/dev/null", flags: O_RDWR)
        dup2(device.descriptor, file)
        #expect(throws: OutboxError.self) { try draft.truncate(to: 3) }
        dup2(kept, file)
        #expect(throws: OutboxError.self) { try draft.synchronise() }
        draft.closed(.ofItsMaker)
    }

    private func spoolDescriptor(in folder: TemporaryFolder, suffix: String = "") throws -> CInt {
        let open = try PrivateFolder.names(in: OpenFile("/proc/self/fd", flags: O_RDONLY))
        return try #require(
            open.compactMap(CInt.init).first { descriptor in
                var path = [CChar](repeating: 0, count: 4096)
                guard readlink("/proc/self/fd/\(descriptor)", &path, path.count - 1) > 0 else { return false }
                let text = String(decoding: path.lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
                return text.hasPrefix(folder.path("outbox/")) && text.contains("/spool/")
                    && text.contains(suffix + "\0")
            })
    }
}

extension Workbench {
    /// Refuses changes of rows, as on a full disk.
    fileprivate func refuseRows() throws {
        try outbox.context.journal.database.transaction { connection in
            try connection.executeScript(
                """
                CREATE TRIGGER full BEFORE UPDATE OF state ON draft BEGIN SELECT RAISE(ABORT, 'full'); END
                """)
        }
    }

    fileprivate func acceptRows() throws {
        try outbox.context.journal.database.transaction { try $0.executeScript("DROP TRIGGER full") }
    }
}
