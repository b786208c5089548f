import Base
import ChatCore
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Local drafts age only by time that the process observes.
@Suite struct AgeTests {
    /// Incomplete as in `CrashTests`, because its maker was killed.
    private func incomplete(_ bench: Workbench, _ file: String = "half") throws -> Draft {
        let draft = try bench.outbox.create(name: name(file), in: alice)
        try draft.write("half of it")
        draft.flushed(.ofItsMaker, .killed)
        draft.closed(.ofItsMaker)
        return draft
    }

    @Test func clockJumpDropsNothing() async throws {
        let bench = try Workbench()
        let draft = try bench.write([1], to: "a.part")
        bench.clock.advance(by: .seconds(400 * 86_400))
        try await bench.live(days: 1)
        #expect(bench.outbox.drafts() == [draft])
        // Nor in another process years later.
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        next.clock.advance(by: .seconds(4000 * 86_400))
        try await next.live(days: 1)
        #expect(next.states() == [.draft])
    }

    @Test func timeCountsAcrossProcesses() async throws {
        let bench = try Workbench()
        try bench.write([1], to: "a.part")
        try await bench.live(days: 4)
        await bench.outbox.shutDown()
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen(boot: "next boot")
        #expect(next.outbox.context.uptime.seconds >= 4 * 86_400)
        #expect(next.outbox.drafts().count == 1)
        try await next.live(days: 4)
        try await wait(until: "it has moved") { next.states() == [.recovered] }
    }

    @Test func sentenceNamesTheDeadline() async throws {
        let bench = try Workbench()
        let temporary = try bench.write([1], to: "a.part")
        let empty = try bench.write([], to: "empty")
        let half = try incomplete(bench)
        #expect(
            temporary.snapshot.problem?.hasSuffix("moves to .chatfs/recovered after 7 days of being mounted.")
                == true)
        #expect(empty.snapshot.problem?.hasSuffix("it is removed after 7 days of being mounted.") == true)
        #expect(
            half.snapshot.problem?.hasSuffix("moves to .chatfs/recovered after 7 days of being mounted.")
                == true)
        try await bench.live(days: 5)
        #expect(temporary.snapshot.problem?.contains("after 2 days") == true)
        try await bench.live(days: 1)
        #expect(temporary.snapshot.problem?.contains("after a day") == true)
        // A rename counts as use.
        try bench.outbox.rename(temporary, to: name("b.part"))
        #expect(temporary.snapshot.problem?.contains("after 7 days") == true)
        try bench.outbox.rename(temporary, to: name("b"))
        #expect(temporary.snapshot.problem == nil)
    }

    @Test func incompleteDraftIsRecovered() async throws {
        let bench = try Workbench()
        let draft = try incomplete(bench)
        try await bench.live(days: 7)
        try await bench.changes { if case .recovered(let moved) = $0 { moved == draft } else { false } }
        #expect(draft.state == .recovered)
        #expect(draft.snapshot.problem?.contains("was killed") == true)
        #expect(draft.snapshot.problem?.contains("Left alone") == false)
        #expect(fails(.notPermitted) { try draft.opened(for: .writing) })
        #expect(try bench.content(of: draft) == Array("half of it".utf8))
        // Its name is free, and it stays for ever.
        _ = try bench.outbox.create(name: name("half"), in: alice)
        try await bench.live(days: 8)
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        #expect(next.outbox.drafts().first { $0.id == draft.id }?.state == .recovered)
        try bench.outbox.remove(draft)
        #expect(!bench.outbox.drafts().contains(draft))
    }

    @Test(arguments: ["report.tmp", "film.mkv.part", ".bashrc.202411", "sedBench1"])
    func temporaryNameWithBytesIsKept(_ file: String) async throws {
        let bench = try Workbench()
        let draft = try bench.write(pattern(3000), to: file)
        try await bench.live(days: 8)
        try await bench.changes { if case .recovered(let moved) = $0 { moved == draft } else { false } }
        #expect(draft.state == .recovered)
        #expect(draft.snapshot.problem?.contains("stays until you remove it") == true)
        try await bench.live(days: 30)
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen(boot: "next boot")
        try await next.live(days: 30)
        let found = try #require(next.outbox.drafts().first)
        #expect(found.state == .recovered && found.snapshot.name == name(file))
        #expect(try next.content(of: found) == pattern(3000))
        #expect(next.core.sent.isEmpty)
    }

    @Test func renamedRecoveredFileIsSent() async throws {
        let bench = try Workbench()
        let draft = try bench.write(pattern(3000), to: "report.tmp")
        try await bench.live(days: 8)
        try await wait(until: "it has moved") { draft.state == .recovered }
        // Another file has its name now.
        let other = try bench.write([1], to: "report.tmp")
        #expect(fails(.nameTaken) { _ = try bench.outbox.send(recovered: draft, named: name("report.tmp")) })
        #expect(draft.state == .recovered)
        #expect(try bench.outbox.send(recovered: draft, named: name("report (2).tmp")))
        #expect(draft.state == .draft && draft.snapshot.problem == nil)
        #expect(try !bench.outbox.send(recovered: draft, named: name("report (3).tmp")))
        // A kill loses nothing.
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        #expect(try await next.replayed(1).map(\.message.fileName) == ["report (2).tmp"])
        bench.beQuiet()
        #expect(try await bench.messages(1).contains { $0.bytes == pattern(3000) })
        #expect(other.state == .draft)
    }

    @Test func incompleteRecoveredFileIsSentOnRequest() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("half"), in: alice)
        try draft.write("half of it")
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        let found = try #require(next.outbox.drafts().first)
        #expect(found.state == .recovered)
        #expect(try next.outbox.send(recovered: found, named: name("half")))
        #expect(try await next.replayed(1).map(\.bytes) == [Array("half of it".utf8)])
        draft.closed(.ofItsMaker)
    }

    @Test func renamedTemporaryFileIsSent() async throws {
        let bench = try Workbench()
        let draft = try bench.write([1, 2], to: "report.tmp")
        let empty = try bench.write([], to: "empty.tmp")
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.state == .draft)
        #expect(try bench.outbox.retry(draft))
        #expect(try !bench.outbox.retry(empty))
        bench.beQuiet()
        #expect(try await bench.messages(2).contains { $0.message.fileName == "report.tmp" })
    }

    @Test func openDraftIsNotAbandoned() async throws {
        let bench = try Workbench()
        let draft = try bench.write([1], to: "a.part")
        try draft.opened(for: .reading)
        try await bench.live(days: 9)
        #expect(bench.outbox.drafts() == [draft])
        draft.closed(for: .reading)
        try await bench.live(days: 1)
        try await wait(until: "it has moved") { bench.states() == [.recovered] }
    }

    @Test func sleepCountsAtMostAnHour() {
        let clock = ManualClock()
        let seen = Uptime(after: 10, clock: clock)
        #expect(seen.seconds == 10)
        for _ in 0..<4 {
            clock.advance(by: .milliseconds(500))
            _ = seen.countUp()
        }
        #expect(seen.seconds == 12)
        clock.advance(by: .seconds(86_400))
        #expect(seen.countUp() == 12 + 3600)
        #expect(seen.countUp() == 12 + 3600)
    }
}
