import Base
import ChatCore
import Foundation
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Order and time of hand-overs.
@Suite struct OrderTests {
    private func names(_ sent: [RecordingCore.Sent], in chat: ChatReference = alice) -> [String] {
        sent.filter { $0.item.chat == chat }.map(\.message.fileName)
    }

    @Test func lastCloseDecidesOrder() async throws {
        let bench = try Workbench()
        let drafts = try ["a", "b", "c"].map { file in
            let draft = try bench.outbox.create(name: name(file), in: alice)
            try draft.write(file)
            return draft
        }
        for draft in drafts.reversed() { draft.closed(.ofItsMaker) }
        bench.beQuiet()
        #expect(names(try await bench.messages(3)) == ["c", "b", "a"])
    }

    @Test func closeDecidesOrderNotRelease() async throws {
        let bench = try Workbench()
        let drafts = try ["a", "b", "c"].map { file in
            let draft = try bench.outbox.create(name: name(file), in: alice)
            try draft.write(file)
            draft.flushed(.ofItsMaker, by: getpid())
            return draft
        }
        for draft in [drafts[1], drafts[2], drafts[0]] { draft.closed(.ofItsMaker) }
        bench.beQuiet()
        #expect(names(try await bench.messages(3)) == ["a", "b", "c"])
    }

    @Test func manyFilesOfAllSizesKeepOrder() async throws {
        let bench = try Workbench(maxFileSize: 10_000_000)
        var random = SeededGenerator(state: 7)
        let order = (0..<300).map { "\($0)" }.shuffled(using: &random)
        for (place, file) in order.enumerated() {
            let size = place % 50 == 3 ? 3_000_000 : Int.random(in: 1..<40_000, using: &random)
            try bench.write([UInt8](repeating: 1, count: size), to: file, in: place % 3 == 0 ? bob : alice)
            if place % 40 == 0 { bench.beQuiet() }
        }
        bench.beQuiet()
        let sent = try await bench.messages(300)
        for chat in [alice, bob] {
            let expected = order.enumerated().filter { ($0.offset % 3 == 0) == (chat == bob) }.map(\.element)
            #expect(names(sent, in: chat) == expected)
        }
    }

    @Test func reopenedFileGoesLast() async throws {
        let bench = try Workbench()
        let first = try bench.write([1], to: "first")
        try bench.write([2], to: "second")
        let again = try first.opened(for: .writing)
        bench.beQuiet()
        #expect(names(try await bench.messages(1)) == ["second"])
        first.closed(again)
        bench.beQuiet()
        #expect(names(try await bench.messages(2)) == ["second", "first"])
    }

    @Test func unsendableFilesBlockNone() async throws {
        let bench = try Workbench()
        let damaged = try bench.write(pattern(5000), to: "damaged")
        let spool = bench.folder.path("outbox/spool")
        let file = "\(spool)/\(try bench.folder.names(in: "outbox/spool")[0])"
        try OpenFile(file, flags: O_RDWR).write([1, 2, 3, 4], at: 600)
        let removed = try bench.write([1], to: "removed")
        let renamed = try bench.write([2], to: "renamed")
        try bench.write([3], to: "last")
        try bench.outbox.remove(removed)
        try bench.outbox.rename(renamed, to: name("renamed.part"))
        bench.beQuiet()
        #expect(names(try await bench.messages(1)) == ["last"])
        #expect(damaged.snapshot.problem != nil)
    }

    @Test func orderPersistsAcrossProcesses() async throws {
        let bench = try Workbench()
        bench.core.close()
        let drafts = try ["a", "b", "c", "d"].map { file in
            let draft = try bench.outbox.create(name: name(file), in: alice)
            try draft.write(file)
            return draft
        }
        // The core accepts the first and dies with it; some are queued, some only closed.
        for draft in [drafts[3], drafts[1]] { draft.closed(.ofItsMaker) }
        bench.beQuiet()
        try await wait(until: "two are queued") {
            bench.states().count { [.sending, .queued].contains($0) } == 2
        }
        for draft in [drafts[2], drafts[0]] { draft.closed(.ofItsMaker) }
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        #expect(names(try await next.replayed(4)) == ["d", "b", "c", "a"])
        bench.core.open()
    }

    /// Both lanes are held in their work; drafts behind them are opened and closed again meanwhile.
    @Test(arguments: [DraftAccess.writing, .reading])
    func newestQuietTimeCountsBehindBusyLanes(access: DraftAccess) async throws {
        let gate = DispatchSemaphore(value: 0)
        let (held, isOpen) = (Lock(0), Lock(false))
        let bench = try Workbench { step in
            guard step == .staged, !isOpen.withLock({ $0 }) else { return }
            held.withLock { $0 += 1 }
            gate.wait()
        }
        for lane in 1...2 {
            try bench.write([UInt8(lane)], to: "lane \(lane)", in: bob)
            bench.beQuiet()
            try await wait(until: "lane \(lane) is busy") { held.withLock { $0 } == lane }
        }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        bench.clock.advance(by: .milliseconds(500))
        let again = try draft.opened(for: access)
        draft.closed(again)
        isOpen.withLock { $0 = true }
        for _ in 1...2 { gate.signal() }
        _ = try await bench.messages(2)
        bench.clock.advance(by: .milliseconds(999))
        // The lanes have examined everything that they were given.
        try await wait(until: "the lanes have ended") { bench.outbox.staging.isIdle }
        #expect(draft.state == .draft)
        bench.clock.advance(by: .milliseconds(1))
        #expect(names(try await bench.messages(3)) == ["a"])
    }
}
