import ChatCore
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

/// External changes of our files: blocks of a partly received file are damaged, swapped or truncated, and a stored file
/// shrinks.
@Suite struct CacheDamageTests {
    private static let chunk: UInt64 = 65_536

    /// A file of ten chunks whose second never arrives, so that it stays incomplete.
    private static func stage() throws -> (Stage, MemorySource, HydratedFile) {
        let stage = try Stage(settings: .readingFromDisk)
        let source = MemorySource(size: 10 * chunk)
        withholdSecondChunk(of: source)
        return (stage, source, stage.hydrator.open(stage.offer(source)))
    }

    private static func withholdSecondChunk(of source: MemorySource) {
        source.behaviour.withLock {
            $0.failures[1] = Array(repeating: XFTPError(.unreachable, "no connection"), count: 1000)
        }
    }

    /// Well within the fifth chunk.
    private static let wanted = 4 * chunk + 1000..<4 * chunk + 9000

    private static func waitUntilKept(_ stage: Stage) async throws {
        try await wait(until: "the first and the fifth chunk are kept") {
            stage.hydrator.cacheReport().bytesOnDisk == 2 * chunk
        }
    }

    @Test func overwrittenBlockIsFetchedAgain() async throws {
        let (stage, source, file) = try Self.stage()
        let right = Pattern.bytes(Self.wanted, seed: 1)
        for count in 1...3 {
            #expect(try await file.bytes(Self.wanted) == right)
            try await Self.waitUntilKept(stage)
            #expect(source.fetches.filter { $0 == 4 }.count == count)
            let blocks = try #require(stage.openFiles(in: "staging").first)
            // As it would be in another file, or never written.
            let other = [UInt8](repeating: count == 1 ? 0xaa : 0, count: Int(Self.chunk))
            try blocks.write(other, at: 4 * Self.chunk)
        }
        await stage.hydrator.shutDown()
    }

    @Test func swappedBlocksAreDetectedAndFetchedAgain() async throws {
        let (stage, source, file) = try Self.stage()
        let chunks = [4, 7]
        let ranges = chunks.map { UInt64($0) * Self.chunk + 1000..<UInt64($0) * Self.chunk + 9000 }
        for range in ranges { #expect(try await file.bytes(range) == Pattern.bytes(range, seed: 1)) }
        try await wait(until: "both are kept") { stage.chunksOnDisk(of: FileID(1)).isSuperset(of: chunks) }
        let blocks = try #require(stage.openFiles(in: "staging").first)
        try Self.exchange((blocks, 4), (blocks, 7))
        for range in ranges { #expect(try await file.bytes(range) == Pattern.bytes(range, seed: 1)) }
        for chunk in chunks { #expect(source.fetches.filter { $0 == chunk }.count == 2) }
        await stage.hydrator.shutDown()
    }

    @Test func blocksSwappedBetweenFilesAreDetected() async throws {
        let stage = try Stage(settings: .readingFromDisk)
        let ids: [Int64] = [1, 2]
        let sources = ids.map { MemorySource(size: 10 * Self.chunk, seed: UInt64($0)) }
        for source in sources { Self.withholdSecondChunk(of: source) }
        let files = zip(ids, sources).map { stage.hydrator.open(stage.offer($1, id: $0)) }
        func check() async throws {
            for (id, file) in zip(ids, files) {
                #expect(try await file.bytes(Self.wanted) == Pattern.bytes(Self.wanted, seed: UInt64(id)))
            }
        }
        try await check()
        try await wait(until: "both are kept") {
            ids.allSatisfy { stage.chunksOnDisk(of: FileID($0)).contains(4) }
        }
        let blocks = try stage.openFiles(in: "staging")
        try #require(blocks.count == 2)
        try Self.exchange((blocks[0], 4), (blocks[1], 4))
        try await check()
        for source in sources { #expect(source.fetches.filter { $0 == 4 }.count == 2) }
        await stage.hydrator.shutDown()
    }

    /// Swaps two blocks.
    private static func exchange(
        _ one: (file: OpenFile, number: UInt64), _ other: (file: OpenFile, number: UInt64)
    ) throws {
        let first = try one.file.read(count: Int(chunk), at: one.number * chunk)
        let second = try other.file.read(count: Int(chunk), at: other.number * chunk)
        try #require(first.count == Int(chunk) && second.count == Int(chunk) && first != second)
        try one.file.write(second, at: one.number * chunk)
        try other.file.write(first, at: other.number * chunk)
    }

    @Test func truncatedBlocksAreFetchedAgain() async throws {
        let (stage, source, file) = try Self.stage()
        let right = Pattern.bytes(Self.wanted, seed: 1)
        #expect(try await file.bytes(Self.wanted) == right)
        try await Self.waitUntilKept(stage)
        let blocks = try #require(stage.openFiles(in: "staging").first)
        try blocks.truncate(to: 5 * Self.chunk - 60_000)
        #expect(try await file.bytes(Self.wanted) == right)
        #expect(source.fetches.filter { $0 == 4 }.count == 2)
        await stage.hydrator.shutDown()
    }

    @Test func shrinkingStoredFileIsDamage() async throws {
        let stage = try Stage(settings: .readingFromDisk)
        let plain = Pattern.bytes(0..<300_000, seed: 5)
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(plain, to: path)
        let file = stage.hydrator.open(
            stage.item(
                7, size: 300_000, status: .rcvComplete,
                source: FileSourceLocation(path: path, arguments: arguments)))
        #expect(try await file.bytes(0..<300_000) == plain)
        try OpenFile(path, flags: O_RDWR).truncate(to: 200_000)
        // As far as complete and authentic blocks exist.
        #expect(try await file.bytes(0..<196_608) == Array(plain[..<196_608]))
        for range in [199_000..<201_000, 250_000..<250_001, 299_999..<300_000] as [Range<UInt64>] {
            await #expect { _ = try await file.bytes(range) } throws: { error in
                (error as? ReadFailure)?.problem.kind == .damaged
            }
        }
        await stage.hydrator.shutDown()
    }
}
