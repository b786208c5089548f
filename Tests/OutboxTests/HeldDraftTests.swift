import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Drafts written by real processes, and the effect of how these end.
@Suite struct HeldDraftTests {
    /// A process that ends as `ending` says on request. Links give it other programs' names.
    private func process(_ ending: String, named name: String = "sh") async throws -> RunningProcess {
        let programs = try TemporaryFolder()
        var program = try Shell.find("sh")
        if name != "sh" {
            // Through a link, because some systems' shell is a multi-call binary.
            program = programs.path(name)
            try copyFile(try Shell.find("dash"), to: program)
        }
        defer { withExtendedLifetime(programs) {} }
        var settings = ChildProcess.Settings(program, ["-c", "echo up; read line; \(ending)"])
        settings.input = .pipe
        let process = try await RunningProcess.start(settings)
        try await process.line("that it runs") { $0 == "up" }
        return process
    }

    private func copyFile(_ source: String, to target: String) throws {
        let file = try OpenFile(source, flags: O_RDONLY)
        let copy = try OpenFile(target, flags: O_WRONLY | O_CREAT, mode: 0o700)
        try copy.write(try file.readAll(limit: 1 << 24), at: 0)
    }

    private func end(_ process: RunningProcess) async throws {
        try process.child.input?.send(Array("go\n".utf8))
        try await process.ending()
    }

    /// Written and closed by the process, as told to the outbox.
    private func draft(_ file: String, by process: RunningProcess, in bench: Workbench) throws -> Draft {
        let draft = try bench.outbox.create(name: name(file), in: alice)
        let thread = process.processIdentifier
        try [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            try draft.write($0, at: 0, through: .ofItsMaker, by: thread)
        }
        draft.flushed(.ofItsMaker, by: thread)
        draft.closed(.ofItsMaker)
        return draft
    }

    private func isHeld(_ draft: Draft) async throws {
        try await wait(until: "it is held") { draft.snapshot.isHeld }
    }

    /// Linux 6.15 reports the exit of a process that was already waited for.
    private var kernelTells: Bool {
        get async throws {
            let process = try await process("exit 3")
            let watched = try WatchedProcess(process.processIdentifier)
            try await end(process)
            try await wait(until: "its end is seen") { watched.outcome != nil }
            return watched.outcome == .exited(3)
        }
    }

    @Test func runningProgramsFileIsSent() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "copy")
        let draft = try draft("a", by: process, in: bench)
        bench.beQuiet()
        #expect(try await bench.messages(1).count == 1)
        #expect(draft.state == .sent)
        process.send(SIGKILL)
    }

    @Test func failedProgramsFileIsHeld() async throws {
        guard try await kernelTells else { return }
        let bench = try Workbench()
        let process = try await process("exit 18", named: "fetch")
        let draft = try draft("a", by: process, in: bench)
        try await end(process)
        bench.beQuiet()
        try await isHeld(draft)
        #expect(draft.snapshot.problem?.contains("fetch ended with the error status 18") == true)
        try await bench.settle()
        #expect(draft.state == .draft)
        // The user accepts it as it is.
        #expect(try bench.outbox.retry(draft))
        bench.beQuiet()
        #expect(try await bench.messages(2).count == 2)
    }

    @Test func resumingProgramIsAwaited() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "wget")
        let draft = try draft("film.bin", by: process, in: bench)
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.state == .draft && draft.snapshot.problem?.hasPrefix("wget may go on") == true)
        #expect(!draft.snapshot.isHeld)
        // It appends, as after a broken connection.
        let thread = process.processIdentifier
        let opening = try draft.opened(for: .writing)
        try [UInt8](repeating: 8, count: 50).withUnsafeBytes {
            try draft.write($0, at: 100, through: opening, by: thread)
        }
        draft.flushed(opening, by: thread)
        draft.closed(opening)
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.state == .draft)
        // The process's end, not the clock, ends the wait.
        try await end(process)
        try await wait(until: "it is sent") { draft.state == .sent }
        #expect(bench.core.sent.contains { $0.bytes.count == 150 })
    }

    @Test func silentProgramIsGivenUp() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "wget")
        let draft = try draft("film.bin", by: process, in: bench)
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.state == .draft)
        bench.clock.advance(by: Workbench.quietTime * 900)
        try await wait(until: "it is sent") { draft.state == .sent }
        process.send(SIGKILL)
    }

    @Test func otherDraftsContinue() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "wget")
        let waiting = try draft("film.bin", by: process, in: bench)
        try bench.write([1], to: "b")
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [[1]])
        #expect(waiting.state == .draft)
        process.send(SIGKILL)
    }

    @Test func reasonPersistsAcrossProcesses() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "wget")
        let draft = try draft("film.bin", by: process, in: bench)
        // Before the end of its quiet time.
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        let found = try #require(next.outbox.drafts().first)
        try await wait(until: "it is held") {
            next.beQuiet()
            return found.snapshot.isHeld
        }
        #expect(found.snapshot.problem?.hasPrefix("wget may go on with this file") == true)
        try await next.settle()
        #expect(found.state == .draft)
        #expect(try next.outbox.retry(found))
        next.beQuiet()
        try await wait(until: "it is sent") { found.state == .sent }
        process.send(SIGKILL)
        withExtendedLifetime(draft) {}
    }

    @Test func unmountKeepsWaitingDraftsReason() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "wget")
        let draft = try draft("film.bin", by: process, in: bench)
        await bench.outbox.shutDown()
        #expect(draft.state == .draft && bench.outbox.waiting == 0)
        bench.outbox.close()
        let next = try Workbench(in: bench.folder, core: bench.core)
        let found = try #require(next.outbox.drafts().first)
        try await wait(until: "it is held") {
            next.beQuiet()
            return found.snapshot.isHeld
        }
        process.send(SIGKILL)
    }

    @Test func failedReadHoldsOpenDrafts() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "copy")
        let thread = process.processIdentifier
        let before = try draft("before", by: process, in: bench)
        let draft = try bench.outbox.create(name: name("broken"), in: alice)
        try [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            try draft.write($0, at: 0, through: .ofItsMaker, by: thread)
        }
        bench.outbox.note(.read, by: thread)
        draft.flushed(.ofItsMaker, by: thread)
        #expect(draft.snapshot.problem?.hasPrefix("copy could not read all") == true)
        draft.closed(.ofItsMaker)
        // The next file is independent.
        let after = try self.draft("after", by: process, in: bench)
        bench.beQuiet()
        try await isHeld(draft)
        #expect(try await bench.messages(2).count == 2)
        #expect(before.state == .sent && after.state == .sent && draft.state == .draft)
        // A kill before the quiet time changes nothing.
        #expect(draft.machine.record.hold == .failedRead("copy"))
        // Copied again, it is sent.
        let again = try draft.opened(for: .writing)
        try draft.truncate(to: 0, through: again, by: thread)
        try [UInt8](repeating: 9, count: 10).withUnsafeBytes {
            try draft.write($0, at: 0, through: again, by: thread)
        }
        draft.closed(again)
        bench.beQuiet()
        #expect(try await bench.messages(3).count == 3)
        process.send(SIGKILL)
    }

    @Test func stateFileHoldsBothFiles() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "fetch")
        let draft = try draft("a.iso", by: process, in: bench)
        let state = try self.draft("a.iso.st", by: process, in: bench)
        let story = try self.draft("story.st", by: process, in: bench)
        bench.beQuiet()
        try await isHeld(draft)
        try await wait(until: "it stays") { state.snapshot.problem?.contains("notes") == true }
        // Without its file it is an ordinary file.
        try await wait(until: "it is sent") { story.state == .sent }
        try await bench.settle()
        #expect(draft.state == .draft && state.state == .draft)
        process.send(SIGKILL)
    }

    @Test func sidecarIsHeldBesideEntry() async throws {
        let bench = try Workbench()
        bench.outbox.look { [wanted = name("wal.db")] name, chat in name == wanted && chat == alice }
        let process = try await process("exit 0", named: "browse")
        let sidecar = try draft("wal.db-shm", by: process, in: bench)
        let other = try draft("other.db-shm", by: process, in: bench)
        bench.beQuiet()
        try await wait(until: "it stays") {
            sidecar.snapshot.problem?.contains("keeps this file beside") == true
        }
        // Sidecars are not reported as held.
        #expect(!sidecar.snapshot.isHeld)
        try await wait(until: "it is sent") { other.state == .sent }
        let copy = try await self.process("exit 0", named: "cp")
        let copied = try draft("wal.db-wal", by: copy, in: bench)
        bench.beQuiet()
        try await wait(until: "it is sent") { copied.state == .sent }
        #expect(sidecar.state == .draft)
        #expect(try bench.outbox.retry(sidecar))
        bench.beQuiet()
        try await wait(until: "it is sent") { sidecar.state == .sent }
        for process in [process, copy] { process.send(SIGKILL) }
    }

    @Test func parentOfWritingChildIsAwaited() async throws {
        let bench = try Workbench()
        let programs = try TemporaryFolder()
        for name in ["yt-dlp", "ffmpeg"] { try copyFile(try Shell.find("dash"), to: programs.path(name)) }
        let child = "\(programs.path("ffmpeg")) -c 'echo $$; read line'"
        var settings = ChildProcess.Settings(programs.path("yt-dlp"), ["-c", "\(child); read line; exit 0"])
        settings.input = .pipe
        let process = try await RunningProcess.start(settings)
        let number = try #require(pid_t(try await process.line("the child's number")))
        let draft = try bench.outbox.create(name: name("clip.f0.mp4"), in: alice)
        try [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            try draft.write($0, at: 0, through: .ofItsMaker, by: number)
        }
        let final = try bench.outbox.create(name: name("clip.mp4"), in: alice)
        try [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            try final.write($0, at: 0, through: .ofItsMaker, by: number)
        }
        try await wait(until: "its parent is known") {
            final.completion.writers.contains { $0.program.name == "yt-dlp" }
        }
        for draft in [draft, final] {
            draft.flushed(.ofItsMaker, by: number)
            draft.closed(.ofItsMaker)
        }
        bench.beQuiet()
        try await bench.settle()
        #expect(final.state == .draft && final.snapshot.problem?.hasPrefix("yt-dlp may go on") == true)
        try process.child.input?.send(Array("go\ngo\n".utf8))
        try await process.ending()
        try await wait(until: "it is sent") { final.state == .sent }
        try await wait(until: "it stays") {
            draft.snapshot.problem?.contains("one file of several parts") == true
        }
        #expect(draft.state == .draft)
    }

    @Test func refusedRenameHoldsUntilSuccess() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "edit")
        let (named, other) = (
            try draft("d2utmpX1", by: process, in: bench), try draft("second", by: process, in: bench)
        )
        bench.outbox.note(.rename(draft: named.id), by: process.processIdentifier)
        bench.beQuiet()
        try await isHeld(named)
        try await isHeld(other)
        #expect(named.snapshot.problem?.hasPrefix("edit was refused a rename") == true)
        // The program retries after the decision.
        try bench.outbox.rename(named, to: name("notes"), by: process.processIdentifier)
        bench.beQuiet()
        try await wait(until: "it is sent") { named.state == .sent }
        let third = try draft("third", by: process, in: bench)
        bench.outbox.note(.rename(draft: third.id), by: process.processIdentifier)
        try bench.outbox.rename(third, to: name("final"), by: process.processIdentifier)
        bench.beQuiet()
        try await wait(until: "it is sent") { third.state == .sent }
        process.send(SIGKILL)
    }

    @Test func invisibleProgramIsNoEvidence() async throws {
        let bench = try Workbench()
        for thread in [0, -1, pid_t.max] {
            let draft = try bench.outbox.create(name: name("by \(thread)"), in: alice)
            try [UInt8](repeating: 7, count: 10).withUnsafeBytes {
                try draft.write($0, at: 0, through: .ofItsMaker, by: thread)
            }
            bench.outbox.note(.read, by: thread)
            draft.flushed(.ofItsMaker, by: thread)
            draft.closed(.ofItsMaker)
        }
        bench.beQuiet()
        #expect(try await bench.messages(3).count == 3)
    }

    @Test func removedAndReplacedDraftsAreReleased() async throws {
        let bench = try Workbench()
        let process = try await process("exit 0", named: "wget")
        let (one, two) = (try draft("one", by: process, in: bench), try draft("two", by: process, in: bench))
        bench.beQuiet()
        try await bench.settle()
        try bench.outbox.remove(one)
        try bench.outbox.rename(try bench.write([1, 2], to: "new"), to: name("two"))
        bench.beQuiet()
        try await wait(until: "the new one is sent") { bench.core.sent.contains { $0.bytes == [1, 2] } }
        #expect(one.state == .removed && two.state == .removed)
        try await end(process)
        try await bench.settle()
        #expect(bench.core.sent.allSatisfy { $0.bytes.count < 100 })
    }
}
