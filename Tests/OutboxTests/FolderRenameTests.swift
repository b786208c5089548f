import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// All parts of a folder get their new paths, or none does.
@Suite struct FolderRenameTests {
    private static func path(_ text: String) -> PartPath {
        PartPath(text.split(separator: "/").map { name(String($0)) })
    }

    private static func parts(_ bench: Workbench, _ paths: String...) throws -> [Draft] {
        try paths.map { text in
            let draft = try bench.outbox.create(part: path(text), in: alice)
            defer { draft.closed(for: .writing) }
            try draft.write(text)
            return draft
        }
    }

    private static func names(_ outbox: Outbox) -> [String] {
        outbox.drafts().map { String(decoding: $0.snapshot.name, as: UTF8.self) }
    }

    private static func code(_ body: () throws -> Void) -> OutboxErrorCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? OutboxError)?.code
        }
    }

    @Test func allPartsMoveAndFreeTheirPaths() throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench, "F/a", "F/sub/b", "F/sub/c")
        try bench.outbox.rename(zip(parts, ["G/a", "G/sub/b", "G/sub/c"]).map { ($0, Self.path($1)) })
        #expect(Self.names(bench.outbox) == ["G/a", "G/sub/b", "G/sub/c"])
        let again = try Self.parts(bench, "F/a", "F/sub/b")
        #expect(Self.code { _ = try Self.parts(bench, "G/a") } == .nameTaken)
        #expect(try bench.content(of: parts[1]) == name("F/sub/b"))
        #expect(try bench.content(of: again[0]) == name("F/a"))
        #expect(parts.allSatisfy { $0.partState == .complete })
        // An empty list has no effect.
        try bench.outbox.rename([])
    }

    @Test func impossiblePathMovesNone() throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench, "F/a", "F/b")
        for (path, code) in [
            (Self.path("G/\(String(repeating: "x/", count: 2_100))y"), OutboxErrorCode.nameTooLong),
            (PartPath([name("G"), name("..")]), .invalidName), (PartPath([name("G"), [0xFF]]), .invalidName),
        ] {
            #expect(
                Self.code { try bench.outbox.rename([(parts[0], Self.path("G/a")), (parts[1], path)]) }
                    == code)
            #expect(Self.names(bench.outbox) == ["F/a", "F/b"])
        }
    }

    @Test func usedPathIsRefused() throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench, "F/a", "F/b", "G/b")
        let moves = zip(parts, ["G/a", "G/b"]).map { (part: $0, path: Self.path($1)) }
        #expect(Self.code { try bench.outbox.rename(moves) } == .nameTaken)
        #expect(Self.names(bench.outbox) == ["F/a", "F/b", "G/b"])
        #expect(try bench.content(of: parts[2]) == name("G/b"))
        // The same path in another chat is independent.
        let other = try bench.outbox.create(part: Self.path("H/a"), in: bob)
        other.closed(for: .writing)
        try bench.outbox.rename([(parts[0], Self.path("H/a"))])
        #expect(Self.names(bench.outbox) == ["H/a", "F/b", "G/b", "H/a"])
    }

    @Test func partMayTakeAFreedPath() throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench, "F/a", "F/b", "F/c")
        // A chain and a circle.
        for paths in [["F/b", "F/c", "F/d"], ["F/c", "F/d", "F/b"]] {
            try bench.outbox.rename(zip(parts, paths).map { (part: $0, path: Self.path($1)) })
            #expect(Self.names(bench.outbox) == paths)
            for (part, path) in zip(parts, paths) {
                #expect(bench.outbox.directory.draft(named: name(path), in: alice) === part, "\(path)")
            }
        }
        // Current paths are in use, former ones are free.
        for path in ["F/b", "F/c", "F/d"] {
            #expect(Self.code { _ = try Self.parts(bench, path) } == .nameTaken, "\(path)")
        }
        _ = try Self.parts(bench, "F/a")
        let both = parts.prefix(2).map { (part: $0, path: Self.path("G/a")) }
        #expect(Self.code { try bench.outbox.rename(both) } == .nameTaken, "two to one path")
        #expect(Self.names(bench.outbox) == ["F/c", "F/d", "F/b", "F/a"])
    }

    @Test func sentPartPreventsAllMoves() throws {
        let bench = try Workbench()
        let parts = try Self.parts(bench, "F/a", "F/b", "F/c")
        try bench.outbox.remove(parts[1])
        let moves = zip(parts, ["G/a", "G/b", "G/c"]).map { (part: $0, path: Self.path($1)) }
        #expect(Self.code { try bench.outbox.rename(moves) } == .notPermitted)
        #expect(Self.names(bench.outbox) == ["F/a", "F/c"])
        try bench.outbox.rename([moves[0], moves[2]])
        #expect(Self.names(bench.outbox) == ["G/a", "G/c"])
    }

    /// The rows change in one transaction: a copy of the folder at any step has all changes or none.
    @Test func killLeavesOneFolder() throws {
        let copies = Lock<[TemporaryFolder]>([])
        let isWatched = Lock(false)
        let folder = try TemporaryFolder()
        let bench = try Workbench(in: folder) { _ in
            guard isWatched.withLock({ $0 }), let copy = try? TemporaryFolder() else { return }
            guard (try? copyFolder(folder.path("outbox"), to: copy.path("outbox"))) != nil else { return }
            copies.withLock { $0.append(copy) }
        }
        let paths = (0..<12).map { "F/\($0)" }
        let parts = try paths.map { try Self.parts(bench, $0)[0] }
        isWatched.withLock { $0 = true }
        try bench.outbox.rename(zip(parts, 0...).map { (part: $0, path: Self.path("G/\($1)")) })
        isWatched.withLock { $0 = false }
        let after = try TemporaryFolder()
        try copyFolder(folder.path("outbox"), to: after.path("outbox"))
        for copy in copies.withLock({ $0 }) + [after] {
            let next = try Workbench(in: copy, starts: false)
            let folders = Set(Self.names(next.outbox).map { $0.prefix(2) })
            #expect(folders.count == 1 && next.outbox.drafts().count == 12)
            next.outbox.close()
        }
        #expect(Self.names(bench.outbox).allSatisfy { $0.hasPrefix("G/") })
    }

    @Test func concurrentWritesAndRenamesDoNotDeadlock() async throws {
        let bench = try Workbench()
        let paths = (0..<8).map { "F/\($0)" }
        let parts = try paths.map { try Self.parts(bench, $0)[0] }
        await withTaskGroup(of: Void.self) { group in
            for part in parts {
                group.addTask {
                    await ThreadPool.shared.run {
                        for _ in 0..<20 {
                            guard let opening = try? part.opened(for: .writing) else { continue }
                            try? Array("x".utf8).withUnsafeBytes {
                                try part.write($0, at: 0, through: opening, by: 0)
                            }
                            part.closed(opening)
                        }
                    }
                }
            }
            // In both orders: locks are taken by age, whatever the order of the moves.
            for order in [parts, parts.reversed()] {
                group.addTask {
                    await ThreadPool.shared.run {
                        for round in 0..<20 {
                            let moves = order.map {
                                (part: $0, path: Self.path("R\(round % 2)/\($0.id)"))
                            }
                            try? bench.outbox.rename(moves)
                        }
                    }
                }
            }
        }
        let folders = Set(Self.names(bench.outbox).map { $0.prefix(2) })
        #expect(folders.count == 1 && bench.outbox.drafts().count == 8)
        for part in parts { #expect(try bench.content(of: part).first == UInt8(ascii: "x")) }
    }
}
