import Posix
import TestSupport
import Testing

@testable import Outbox

/// A removed draft behaves like an unlinked file.
@Suite struct RemovedDraftTests {
    private func spool(_ bench: Workbench) throws -> [String] { try bench.folder.names(in: "outbox/spool") }

    private func append(_ bytes: [UInt8], to draft: Draft) throws {
        let end = draft.snapshot.size
        try bytes.withUnsafeBytes { try draft.write($0, at: end) }
    }

    @Test func lastCloseDeletesRemovedDraftsFiles() throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try append(pattern(100_000), to: draft)
        // Synchronised bytes are not overwritten: the next version goes to a second file.
        try draft.synchronise()
        try bench.outbox.remove(draft)
        try append(pattern(100_000), to: draft)
        try draft.truncate(to: 150_000)
        #expect(try spool(bench).count == 2)
        #expect(try bench.content(of: draft) == Array((pattern(100_000) + pattern(100_000))[..<150_000]))
        try draft.opened(for: .reading)
        draft.closed(for: .writing)
        #expect(try bench.content(of: draft).count == 150_000)
        draft.closed(for: .reading)
        #expect(try spool(bench) == [])
        #expect(fails(.gone) { try draft.opened(for: .reading) })
        #expect(!draft.hold())
    }

    @Test func heldRemovedDraftIsWritableUnsent() async throws {
        let bench = try Workbench()
        let draft = try bench.write(pattern(5000), to: "a")
        #expect(draft.hold())
        try bench.outbox.remove(draft)
        #expect(try bench.content(of: draft) == pattern(5000))
        try draft.opened(for: .writing)
        try draft.truncate(to: 0)
        try append([1, 2, 3], to: draft)
        draft.closed(for: .writing)
        #expect(try bench.content(of: draft) == [1, 2, 3])
        try draft.truncate(to: 2)
        #expect(draft.snapshot.size == 2)
        bench.beQuiet()
        try await bench.settle()
        #expect(bench.core.sent.count == 1)
        draft.letGo()
        #expect(fails(.gone) { try draft.opened(for: .writing) })
    }

    @Test func replacedDraftStaysWhileHeld() throws {
        let bench = try Workbench()
        let (old, new) = (try bench.write([1], to: "a.part"), try bench.write([2], to: "b.part"))
        #expect(old.hold())
        try bench.outbox.rename(new, to: name("a.part"))
        #expect(old.state == .removed)
        #expect(try bench.content(of: old) == [1])
        #expect(bench.outbox.drafts() == [new])
        old.letGo()
        #expect(try spool(bench).count == 1)
        #expect(try bench.content(of: new) == [2])
    }

    @Test func holdKeepsNothingOfExistingDraft() throws {
        let bench = try Workbench()
        let draft = try bench.write([1], to: "a.part")
        #expect(draft.hold())
        draft.letGo()
        #expect(try bench.content(of: draft) == [1])
        try bench.outbox.remove(draft)
        #expect(try spool(bench) == [])
    }
}
