import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Folders sent as archives: their parts wait until the archive replaces them.
@Suite struct FolderPartTests {
    private static let bytes = pattern(50_000)

    private static func path(_ names: String...) -> PartPath { PartPath(names.map(name)) }

    private static func write(
        _ bytes: [UInt8], to path: PartPath, _ bench: Workbench
    ) throws -> Draft {
        let draft = try bench.outbox.create(part: path, in: alice)
        defer { draft.closed(for: .writing) }
        try bytes.withUnsafeBytes { try draft.write($0, at: 0) }
        return draft
    }

    private static func parts(_ bench: Workbench) throws -> [Draft] {
        [
            try write(bytes, to: path("F", "a"), bench), try write([1], to: path("F", "b", "c.part"), bench),
            try write([], to: path("F", "empty"), bench),
        ]
    }

    @Test func pathsSurviveEncoding() throws {
        let path = try #require(PartPath(name("F/b/c")))
        #expect(path.names == ["F", "b", "c"].map(name) && path.bytes == name("F/b/c"))
        #expect(path.folder == name("F") && path.fileName == name("c") && !path.isArchive)
        let archive = PartPath(archiveOf: name("F"))
        #expect(archive.bytes == name("F/") && PartPath(name("F/")) == archive && archive.isArchive)
        #expect(PartPath(name("F")) == nil)
        for bad in ["F//a", "/a", "F/../a", "F/./a", "//"] {
            #expect(throws: OutboxError.self, "\(bad)") { try PartPath(name(bad))?.require() }
        }
        #expect(throws: OutboxError.self) { try PartPath([name("F"), [0xFF]]).require() }
        let long = PartPath(Array(repeating: [UInt8](repeating: 97, count: 200), count: 21))
        #expect(throws: OutboxError.self) { try long.require() }
    }

    @Test func partsAreKeptSilently() async throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench)
        bench.beQuiet()
        try await bench.settle()
        #expect(bench.core.sent.filter { $0.item.chat == alice }.isEmpty)
        for part in parts {
            #expect(part.partState == .complete && part.state == .draft && part.snapshot.problem == nil)
        }
        #expect(bench.outbox.waiting == 0)
        _ = try parts[0].opened(for: .writing)
        #expect(parts[0].partState == .open)
        parts[0].closed(for: .writing)
        try bench.outbox.rename(parts[0], to: Self.path("G", "x").bytes)
        #expect(parts[0].partState == .complete)
        #expect(throws: OutboxError.self, "a name for a draft of its own") {
            try bench.outbox.create(name: name("F/a"), in: alice)
        }
    }

    private static func archive(_ parts: [Draft], _ bench: Workbench) throws -> Draft {
        try write(pattern(200_000, seed: 9), to: PartPath(archiveOf: name("F")), bench)
    }

    @Test func archiveReplacesParts() async throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench)
        let archive = try Self.archive(parts, bench)
        try bench.outbox.complete(archive, named: name("F.zip"), of: parts.map(\.partVersion))
        #expect(parts.allSatisfy { $0.state == .removed })
        bench.beQuiet()
        let sent = try await bench.messages(1)
        #expect(sent.map(\.bytes) == [pattern(200_000, seed: 9)])
        #expect(bench.outbox.drafts().map(\.snapshot.name) == [name("F.zip")])
    }

    @Test func changedPartKeepsAllParts() throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench)
        let read = parts.map(\.partVersion)
        let archive = try Self.archive(parts, bench)
        let opening = try parts[0].opened(for: .writing)
        try [UInt8]([9, 9]).withUnsafeBytes { try parts[0].write($0, at: 0, through: opening, by: 0) }
        parts[0].closed(opening)
        #expect(parts[0].partState == .complete)
        #expect(throws: OutboxError.self) {
            try bench.outbox.complete(archive, named: name("F.zip"), of: read)
        }
        #expect(parts.allSatisfy { $0.state == .draft })
        let written = parts.map(\.partVersion)
        try bench.outbox.rename(parts[1], to: Self.path("F", "other").bytes)
        #expect(throws: OutboxError.self) {
            try bench.outbox.complete(archive, named: name("F.zip"), of: written)
        }
        #expect(parts.allSatisfy { $0.state == .draft })
    }

    @Test func openPartsAndUsedNamesAreRefused() throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench)
        let archive = try Self.archive(parts, bench)
        func expectRefused(_ why: Comment) {
            #expect(throws: OutboxError.self, why) {
                try bench.outbox.complete(archive, named: name("F.zip"), of: parts.map(\.partVersion))
            }
            #expect(archive.snapshot.name == name("F/"))
            #expect(parts.allSatisfy { $0.state == .draft })
        }
        _ = try parts[1].opened(for: .writing)
        expectRefused("open")
        parts[1].closed(for: .writing)
        let opening = try parts[1].opened(for: .writing)
        #expect(throws: OutboxError.self) {
            try [UInt8](repeating: 0, count: 10).withUnsafeBytes { bytes in
                try parts[1].write(bytes, at: 5_000_000, through: opening, by: 0)
            }
        }
        parts[1].closed(opening)
        guard case .incomplete = parts[1].partState else {
            Issue.record("\(parts[1].partState)")
            return
        }
        expectRefused("incomplete")
        let other = try? bench.outbox.create(name: name("F.zip"), in: alice)
        expectRefused("taken")
        if let other { try? bench.outbox.remove(other) }
        #expect(throws: Never.self, "its user wants it") {
            try bench.outbox.complete(
                archive, named: name("F.zip"), of: parts.map(\.partVersion), evenIncomplete: true)
        }
    }

    @Test(arguments: ["first boot", "next boot"])
    func archivingIsAtomicUnderKills(boot: String) async throws {
        var outcomes: Set<Int> = []
        for step in 0..<12 {
            let folder = try TemporaryFolder()
            let core = try RecordingCore(stagingFolder: folder.path("staging"))
            let (remains, left) = (Lock<CrashTests.Remains?>(nil), Lock<Int?>(nil))
            let bench = try Workbench(in: folder, core: core) { _ in
                let isNow = left.withLock { left in
                    defer { left = left.map { $0 - 1 } }
                    return left == 0
                }
                guard isNow, let copy = try? CrashTests.Remains(of: folder, core) else { return }
                remains.withLock { $0 = copy }
            }
            let parts = try Self.parts(bench)
            for part in parts { try part.synchronise() }
            let archive = try Self.archive(parts, bench)
            left.withLock { $0 = step }
            try bench.outbox.complete(archive, named: name("F.zip"), of: parts.map(\.partVersion))
            let dead = try remains.withLock { $0 } ?? CrashTests.Remains(of: folder, core)
            let next = try dead.reopen(boot: boot)
            let names = Set(next.outbox.drafts().map(\.snapshot.name))
            outcomes.insert(names.count)
            if names.contains(name("F.zip")) {
                #expect(names == [name("F.zip")], "step \(step)")
                let sent = try await next.replayed(1)
                #expect(sent.map(\.bytes) == [pattern(200_000, seed: 9)])
            } else {
                #expect(names.isSuperset(of: ["F/a", "F/b/c.part", "F/empty"].map(name)), "step \(step)")
                let first = try #require(next.outbox.drafts().first { $0.snapshot.name == name("F/a") })
                #expect(first.partState == .complete)
                #expect(try next.content(of: first) == Self.bytes)
            }
        }
        #expect(outcomes.count == 2, "before and after")
    }

    @Test func abandonedPartIsRecovered() async throws {
        let bench = try Workbench()
        let part = try Self.write(Self.bytes, to: Self.path("F", "a"), bench)
        bench.beQuiet()
        try await bench.live(days: 8)
        try await bench.changes { if case .recovered(let draft) = $0 { draft == part } else { false } }
        #expect(part.state == .recovered)
        #expect(try bench.content(of: part) == Self.bytes)
    }
}
