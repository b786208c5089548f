import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Drafts complete or incomplete at a kill before the last close is known.
@Suite struct CompletionTests {
    private func afterAKill(_ bench: Workbench) throws -> Workbench {
        try CrashTests.Remains(of: bench.folder, bench.core).reopen()
    }

    @Test func flushedDraftIsSentAfterKill() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("whole")
        draft.flushed(.ofItsMaker, by: getpid())
        #expect(draft.isFinished(.ofItsMaker))
        // Not sent by this process, in which it is open.
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.state == .draft)
        let next = try afterAKill(bench)
        #expect(try await next.replayed(2).contains { $0.bytes == Array("whole".utf8) })
    }

    @Test func writeAfterFlushMakesDraftUnfinished() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("one")
        draft.flushed(.ofItsMaker, by: getpid())
        try draft.write(" two", at: 3)
        #expect(!draft.isFinished(.ofItsMaker))
        #expect(try afterAKill(bench).states() == [.recovered])
        draft.flushed(.ofItsMaker, by: getpid())
        try draft.truncate(to: 2)
        #expect(try afterAKill(bench).states() == [.recovered])
        draft.closed(.ofItsMaker)
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("on".utf8)])
    }

    @Test func everyWriterMustFlush() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        let second = try draft.opened(for: .writing)
        try draft.write("one")
        draft.flushed(second, by: getpid())
        #expect(draft.isFinished(second) && !draft.isFinished(.ofItsMaker))
        #expect(try afterAKill(bench).states() == [.recovered])
        draft.flushed(.ofItsMaker, by: getpid())
        #expect(try afterAKill(bench).states() == [.draft])
    }

    @Test func closeByChildIsNoCompletion() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("half")
        // Another living process than the writer.
        draft.flushed(.ofItsMaker, by: getppid())
        #expect(!draft.isFinished(.ofItsMaker))
        #expect(try afterAKill(bench).states() == [.recovered])
        draft.flushed(.ofItsMaker, by: getpid())
        draft.flushed(.ofItsMaker, by: getppid())
        #expect(draft.isFinished(.ofItsMaker))
    }

    @Test func closeByChildDoesNotCompleteTruncation() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        let beside = try draft.opened(for: .writing)
        draft.flushed(beside, by: getpid())
        try draft.truncate(to: 5, through: .ofItsMaker, by: getpid())
        draft.flushed(.ofItsMaker, by: getppid())
        #expect(!draft.isFinished(.ofItsMaker))
        #expect(try afterAKill(bench).states() == [.recovered])
        // A second opening wrote nothing, whatever thread closes it.
        #expect(draft.machine.writers.lastWriter(beside.number) == nil && draft.isFinished(beside))
        draft.flushed(.ofItsMaker, by: getpid())
        #expect(draft.isFinished(.ofItsMaker))
        #expect(try afterAKill(bench).states() == [.draft])
    }

    @Test func truncationByPathNeedsOwnClose() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.truncate(to: 5, through: nil, by: getpid())
        draft.flushed(.ofItsMaker, by: getppid())
        #expect(!draft.isFinished(.ofItsMaker))
        #expect(try afterAKill(bench).states() == [.recovered])
        draft.flushed(.ofItsMaker, by: getpid())
        #expect(draft.isFinished(.ofItsMaker))
        #expect(try afterAKill(bench).states() == [.draft])
    }

    @Test func endedThreadLeavesCloseToOthers() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        // The thread has ended.
        try [UInt8]([1]).withUnsafeBytes {
            try draft.write($0, at: 0, through: .ofItsMaker, by: .max)
        }
        draft.flushed(.ofItsMaker, by: getpid())
        #expect(draft.isFinished(.ofItsMaker))
    }

    @Test func powerCutRestoresNoRowOfOverwrittenBytes() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("one")
        draft.flushed(.ofItsMaker, by: getpid())
        try draft.synchronise()
        let whole = try CrashTests.Remains(of: bench.folder, bench.core).reopen(boot: "next boot")
        #expect(whole.states() == [.draft])
        try draft.write("two")
        let half = try CrashTests.Remains(of: bench.folder, bench.core).reopen(boot: "next boot")
        #expect(half.states() == [.recovered])
    }
}

/// The effects of a writer killed while writing. Only a waiting process detects the death, so real mounts test the
/// detection.
@Suite struct KilledWriterTests {
    /// A draft whose maker was killed.
    private func left(_ bench: Workbench, _ text: String = "half of it") throws -> Draft {
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write(text)
        draft.flushed(.ofItsMaker, .killed)
        draft.closed(.ofItsMaker)
        return draft
    }

    private func expectKept(_ draft: Draft, _ bench: Workbench) async throws {
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.state == .draft)
        #expect(draft.snapshot.problem?.contains("was killed") == true)
        #expect(!bench.core.sent.contains { $0.message.fileName == "a" })
    }

    @Test func unfinishedDraftStaysWithReason() async throws {
        let bench = try Workbench()
        let draft = try left(bench)
        try await expectKept(draft, bench)
        // Opening it changes no content, nor does setting a time.
        try draft.opened(for: .writing)
        draft.closed(for: .writing)
        try draft.setModified(Timestamp(seconds: 5))
        try await expectKept(draft, bench)
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        try await expectKept(try #require(next.outbox.drafts().first { $0.id == draft.id }), next)
    }

    @Test func openUnfinishedDraftReportsReason() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try draft.write("half")
        draft.flushed(.ofItsMaker, .killed)
        #expect(draft.snapshot.problem?.contains("was killed") == true)
        // Continuing through the same opening cannot repair the missing part.
        try draft.write("more", at: 4)
        draft.flushed(.ofItsMaker, .finished)
        draft.closed(.ofItsMaker)
        try await expectKept(draft, bench)
    }

    @Test func continuedDraftIsSent() async throws {
        let bench = try Workbench()
        let draft = try left(bench)
        let again = try draft.opened(for: .writing)
        try draft.write(", and the rest", at: 10)
        draft.flushed(again, by: getpid())
        draft.closed(again)
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("half of it, and the rest".utf8)])
    }

    @Test func rewrittenDraftIsSent() async throws {
        let bench = try Workbench()
        let draft = try left(bench)
        let again = try draft.opened(for: .writing)
        try draft.truncate(to: 0)
        try draft.write("whole")
        draft.closed(again)
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("whole".utf8)])
    }

    @Test func retriedDraftIsSentUnchanged() async throws {
        let bench = try Workbench()
        let draft = try left(bench)
        try await expectKept(draft, bench)
        #expect(try bench.outbox.retry(draft))
        #expect(draft.snapshot.problem == nil)
        bench.beQuiet()
        let sent = try await bench.messages(2)
        #expect(sent.contains { $0.bytes == Array("half of it".utf8) })
        #expect(try !bench.outbox.retry(try bench.write([1], to: "b")))
    }

    @Test func writerWithoutBytesOmitsNone() async throws {
        let bench = try Workbench()
        try bench.write([1, 2], to: "a")
        let draft = try #require(bench.outbox.drafts().first)
        let again = try draft.opened(for: .writing)
        #expect(draft.machine.writers.lastWriter(again.number) == nil)
        #expect(DescriptorClose.looked(at: getpid(), lastWriter: nil).close == .finished)
        draft.closed(again)
        bench.beQuiet()
        #expect(try await bench.messages(1).count == 1)
    }
}
