import ChatCore
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

/// What happens to files of ours behind our back: blocks of the cache are damaged, put back or cut off, and
/// a stored file becomes shorter.
@Suite struct CacheDamageTests {
    private static let chunk: UInt64 = 65_536

    /// A file of ten chunks whose second never comes, so that those behind it lie in the cache.
    private static func stage() throws -> (Stage, MemorySource, HydratedFile) {
        let stage = try Stage()
        let source = MemorySource(size: 10 * chunk)
        source.behaviour.withLock {
            $0.failures[1] = Array(repeating: XFTPError(.unreachable, "no connection"), count: 1000)
        }
        return (stage, source, stage.hydrator.open(stage.offer(source)))
    }

    /// Well within the fifth chunk.
    private static let wanted = 4 * chunk + 1000..<4 * chunk + 9000

    /// The file that the cache keeps its blocks in, by this process's own descriptors.
    private static func blocks(of stage: Stage) throws -> OpenFile {
        let descriptors = try OpenFile("/proc/self/fd", flags: O_RDONLY)
        for name in try PrivateFolder.names(in: descriptors) {
            var target = [UInt8](repeating: 0, count: 4096)
            let length = target.withUnsafeMutableBytes {
                readlink(
                    "/proc/self/fd/\(name)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
            }
            let path = String(decoding: target.prefix(max(0, length)), as: UTF8.self)
            if path.hasPrefix(stage.folder.path("cache/")), path.hasSuffix("(deleted)") {
                return try OpenFile("/proc/self/fd/\(name)", flags: O_RDWR)
            }
        }
        throw WaitedInVain("the cache has no file")
    }

    private static func waitUntilKept(_ stage: Stage) async throws {
        try await wait(until: "the first and the fifth chunk are kept") {
            stage.hydrator.cacheReport().bytesOnDisk == 2 * chunk
        }
    }

    @Test func aBlockPutBackFromEarlierIsNoticedAndItsChunkFetchedAgain() async throws {
        let (stage, source, file) = try Self.stage()
        let right = Pattern.bytes(Self.wanted, seed: 1)
        #expect(try await file.bytes(Self.wanted) == right)
        try await Self.waitUntilKept(stage)
        let blocks = try Self.blocks(of: stage)
        let earlier = try blocks.readAll(limit: 4 << 20)
        // Damaged, it is stored once more, with another nonce; the old block is put back in its place.
        try blocks.write([UInt8](repeating: 0xaa, count: earlier.count), at: 0)
        #expect(try await file.bytes(Self.wanted) == right)
        try await Self.waitUntilKept(stage)
        let later = try blocks.readAll(limit: 4 << 20)
        #expect(later.count == earlier.count && later != earlier)
        try blocks.write(earlier, at: 0)
        #expect(try await file.bytes(Self.wanted) == right)
        #expect(source.fetches.filter { $0 == 4 }.count == 3)
        await stage.hydrator.shutDown()
    }

    @Test func blocksThatWereCutOffAreFetchedAgain() async throws {
        let (stage, source, file) = try Self.stage()
        let right = Pattern.bytes(Self.wanted, seed: 1)
        #expect(try await file.bytes(Self.wanted) == right)
        try await Self.waitUntilKept(stage)
        let blocks = try Self.blocks(of: stage)
        try blocks.truncate(to: try blocks.size() - 60_000)
        #expect(try await file.bytes(Self.wanted) == right)
        #expect(source.fetches.filter { $0 == 4 }.count == 2)
        await stage.hydrator.shutDown()
    }

    @Test func aStoredFileThatShrinksIsDamageAndNeverZerosOrLess() async throws {
        let stage = try Stage()
        let plain = Pattern.bytes(0..<300_000, seed: 5)
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(plain, to: path)
        let file = stage.hydrator.open(
            stage.item(
                7, size: 300_000, status: .rcvComplete,
                source: FileSourceLocation(path: path, arguments: arguments)))
        #expect(try await file.bytes(0..<300_000) == plain)
        try OpenFile(path, flags: O_RDWR).truncate(to: 200_000)
        #expect(try await file.bytes(0..<200_000) == Array(plain[..<200_000]))
        for range in [199_000..<201_000, 250_000..<250_001, 299_999..<300_000] as [Range<UInt64>] {
            await #expect { _ = try await file.bytes(range) } throws: { error in
                (error as? ReadFailure)?.problem.kind == .damaged
            }
        }
        await stage.hydrator.shutDown()
    }
}
