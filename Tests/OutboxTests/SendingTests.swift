import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// The time of sending, and that it happens once.
@Suite struct SendingTests {
    @Test func copiedFileIsSentOnceAfterQuietTime() async throws {
        let bench = try Workbench()
        let bytes = pattern(200_000)
        let draft = try bench.write(bytes, to: "photo.raw")
        #expect(draft.snapshot.size == 200_000)
        bench.beQuiet()
        let sent = try await bench.messages(1)
        bench.clock.advance(by: .seconds(100))
        try await bench.settle()
        #expect(bench.core.sent.filter { $0.item.chat == alice }.count == 1)
        #expect(sent[0].bytes == bytes)
        #expect(sent[0].message.fileName == "photo.raw")
        #expect(sent[0].message.modified == ManualClock.start)
    }

    @Test func fileIsNotSentDuringQuietTime() async throws {
        let bench = try Workbench()
        let draft = try bench.write([1, 2, 3], to: "a")
        bench.clock.advance(by: .milliseconds(999))
        #expect(draft.state == .draft)
        #expect(bench.core.state.withLock { $0.attempts } == 0)
        bench.clock.advance(by: .milliseconds(1))
        #expect(try await bench.messages(1).count == 1)
    }

    @Test func reopenedFileWaitsForLastWriter() async throws {
        let bench = try Workbench()
        let draft = try bench.write(Array("one".utf8), to: "log")
        bench.clock.advance(by: .milliseconds(900))
        try draft.opened(for: .writing)
        bench.clock.advance(by: .seconds(60))
        #expect(draft.state == .draft)
        try Array(" two".utf8).withUnsafeBytes { try draft.write($0, at: 3) }
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("one two".utf8)])
    }

    @Test func readerRestartsQuietTimeOnly() async throws {
        let bench = try Workbench()
        let draft = try bench.write([1], to: "a")
        bench.clock.advance(by: .milliseconds(900))
        try draft.opened(for: .reading)
        bench.clock.advance(by: .milliseconds(900))
        #expect(draft.state == .draft)
        bench.clock.advance(by: .milliseconds(100))
        #expect(try await bench.messages(1).count == 1)
        #expect(try bench.content(of: draft) == [1])
        draft.closed(for: .reading)
    }

    @Test func laterTimesAndCaptionsAreIncluded() async throws {
        let bench = try Workbench()
        let draft = try bench.write([1], to: "a")
        try draft.setModified(Timestamp(seconds: 5))
        try draft.setCaption("look")
        bench.beQuiet()
        let sent = try await bench.messages(1)
        #expect(sent[0].message.modified == Timestamp(seconds: 5))
        #expect(sent[0].message.content.text == "look")
        try await wait(until: "it is sent") { draft.state == .sent }
        try draft.setModified(Timestamp(seconds: 6))
        #expect(draft.snapshot.modified == Timestamp(seconds: 6))
        #expect(throws: OutboxError.self) { try draft.setCaption("too late") }
        bench.clock.advance(by: .seconds(100))
        try await bench.settle()
        #expect(bench.core.sent.filter { $0.item.chat == alice }.count == 1)
    }

    /// An open during the transition must succeed.
    @Test func sentFileIsReadableUntilAcknowledged() async throws {
        let bench = try Workbench()
        let draft = try bench.write(pattern(70_000), to: "sent")
        bench.beQuiet()
        _ = try await bench.messages(1)
        try await wait(until: "it is noted") { draft.state == .sent }
        try draft.opened(for: .reading)
        #expect(try bench.content(of: draft) == pattern(70_000))
        draft.closed(for: .reading)
        let spool = try OpenFile(bench.folder.path("outbox/spool"), flags: O_RDONLY)
        #expect(try PrivateFolder.names(in: spool).count == 1)
        try bench.outbox.acknowledge(draft)
        #expect(try PrivateFolder.names(in: spool).isEmpty)
        // Not as a failed disk: the kernel looks the name up again and finds the item.
        #expect(fails(.gone) { _ = try bench.content(of: draft) })
    }

    @Test func sentFileIsReportedWithItsItem() async throws {
        let bench = try Workbench()
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await bench.changes { change in
            if case .became(let other, let item) = change {
                other == draft && item.id == ItemID(1)
            } else {
                false
            }
        }
        #expect(bench.states() == [.sent])
        try bench.outbox.acknowledge(draft)
        #expect(bench.outbox.drafts().isEmpty)
        #expect(try bench.folder.names(in: "outbox/spool").isEmpty)
        #expect(try bench.folder.names(in: "staging").isEmpty)
        // The name is free again after the item's deletion.
        _ = try bench.outbox.create(name: name("a"), in: alice)
    }

    @Test func sendingFileCannotBeChanged() async throws {
        let bench = try Workbench()
        bench.core.close()
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "it is being handed over") { draft.state == .sending }
        #expect(fails(.notPermitted) { try draft.opened(for: .writing) })
        #expect(fails(.notPermitted) { try draft.truncate(to: 0) })
        #expect(fails(.notPermitted) { try bench.outbox.rename(draft, to: name("b")) })
        #expect(fails(.notPermitted) { try bench.outbox.remove(draft, evenAtTheCore: false) })
        #expect(bench.states() == [.sending])
        try draft.opened(for: .reading)
        bench.core.open()
        _ = try await bench.messages(1)
        #expect(fails(.notPermitted) { try draft.opened(for: .writing) })
        #expect(fails(.notPermitted) { try bench.outbox.remove(draft) })
        // Open handles stay readable without the spool file.
        #expect(try bench.content(of: draft) == [1])
        draft.closed(for: .reading)
    }

    @Test func reopenedQueuedFileIsSentAsChanged() async throws {
        let bench = try Workbench()
        bench.core.close()
        try bench.write([0], to: "first")
        let draft = try bench.write([1], to: "second")
        bench.beQuiet()
        try await wait(until: "the second waits behind the first") { bench.states() == [.sending, .queued] }
        try draft.opened(for: .writing)
        #expect(draft.state == .draft)
        try [UInt8]([7, 8]).withUnsafeBytes { try draft.write($0, at: 0) }
        bench.core.open()
        #expect(try await bench.messages(1).map(\.bytes) == [[0]])
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(2).map(\.bytes) == [[0], [7, 8]])
        // The core has it before the outbox removes the staged file.
        try await wait(until: "nothing is staged") { try bench.folder.names(in: "staging").isEmpty }
    }

    @Test func twoDraftsAreWrittenConcurrently() async throws {
        let bench = try Workbench()
        let first = try bench.outbox.create(name: name("a"), in: alice)
        let second = try bench.outbox.create(name: name("b"), in: alice)
        let (one, two) = (pattern(150_000, seed: 1), pattern(150_000, seed: 2))
        for start in stride(from: 0, to: 150_000, by: 10_000) {
            try one[start..<start + 10_000].withUnsafeBytes { try first.write($0, at: UInt64(start)) }
            try two[start..<start + 10_000].withUnsafeBytes { try second.write($0, at: UInt64(start)) }
        }
        first.closed(for: .writing)
        second.closed(for: .writing)
        bench.beQuiet()
        let sent = try await bench.messages(2)
        #expect(Set(sent.map(\.bytes)) == [one, two])
    }

    @Test func thousandSmallFilesAreSentOnce() async throws {
        let bench = try Workbench()
        for number in 0..<1000 { try bench.write(Array("file \(number)".utf8), to: "\(number).txt") }
        bench.beQuiet()
        let sent = try await bench.messages(1000)
        #expect(sent.count == 1000)
        #expect(Set(sent.map(\.message.fileName)).count == 1000)
        #expect(sent.allSatisfy { $0.bytes == Array("file \($0.message.fileName.dropLast(4))".utf8) })
    }

    @Test func leavingSendsClosedFilesAtOnce() async throws {
        let bench = try Workbench()
        try bench.write([1], to: "a")
        let open = try bench.outbox.create(name: name("b"), in: alice)
        try [UInt8]([2]).withUnsafeBytes { try open.write($0, at: 0) }
        await bench.outbox.shutDown()
        #expect(bench.core.sent.map(\.bytes) == [[1]])
        #expect(fails(.shuttingDown) { _ = try bench.outbox.create(name: name("c"), in: alice) })
        // Too late now, but in time for the next round.
        open.closed(for: .writing)
        let core = try RecordingCore(stagingFolder: bench.core.stagingFolder, sent: bench.core.sent)
        let next = try Workbench(in: bench.folder, core: core)
        #expect(try await next.replayed(2).map(\.bytes) == [[1], [2]])
    }
}

/// Returns true if `body` throws an `OutboxError` of this code.
func fails(_ code: OutboxErrorCode, _ body: () throws -> Void) -> Bool {
    do {
        try body()
        return false
    } catch {
        return (error as? OutboxError)?.code == code
    }
}
