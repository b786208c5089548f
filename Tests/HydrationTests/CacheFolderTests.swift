import ChatCore
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

/// The content of the cache's disk.
@Suite struct CacheFolderTests {
    /// In the plain cache the search must find the bytes, which validates the search.
    @Test(arguments: [CacheMode.sealed, .plain])
    func onlyPlainCacheIsReadableOnDisk(mode: CacheMode) async throws {
        var settings = HydrationSettings()
        settings.cacheMode = mode
        let stage = try Stage(settings: settings)
        let source = MemorySource(size: 10 * 65_536)
        // Without the second chunk, later ones go to the cache.
        source.behaviour.withLock {
            $0.failures[1] = Array(repeating: XFTPError(.unreachable, "no connection"), count: 1000)
        }
        let file = stage.hydrator.open(stage.offer(source))
        let first = try await file.bytes(0..<60_000)
        let later = try await file.bytes(200_000..<400_000)
        try await wait(until: "what was read lies on the disk") {
            stage.chunksOnDisk(of: FileID(1)).isSuperset(of: 3...6)
        }
        #expect(try stage.folder.names(in: "cache") == [PrivateFolder.marker])
        let caches = try stage.unnamedFiles(in: "cache").map { try $0.readAll(limit: 4 << 20) }
        try #require(caches.count == 1)
        for start in stride(from: 0, to: 190_000, by: 39_877) {
            #expect(caches[0].contains(later[start..<start + 16]) == (mode == .plain))
        }
        // The first chunk is in the CryptoFile that will be kept.
        let kept = try await wait(for: "the CryptoFile") {
            try stage.unnamedFiles(in: "staging").map { try $0.readAll(limit: 4 << 20) }
                .first { $0.count > first.count }
        }
        #expect(!kept.contains(first[1000..<1016]) && !kept.contains(first[50_000..<50_016]))
        await stage.hydrator.shutDown()
    }

    @Test func nextMountSweepsKilledMountsFiles() async throws {
        let folder = try TemporaryFolder()
        let cache = try PrivateFolder(folder.path("cache"), purpose: "test cache")
        // Without O_TMPFILE, files have a name for a moment.
        _ = try folder.write([1, 2, 3], to: "cache/blocks-0123")
        let core = MemoryCore(stagingFolder: try folder.makeFolder("staging"))
        let hydrator = try Hydrator(core: core, cacheFolder: cache) { _ in
            throw XFTPError(.malformedDescription, "There is no file.")
        }
        #expect(try folder.names(in: "cache") == [PrivateFolder.marker])
        await hydrator.shutDown()
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: ArraySlice<UInt8>) -> Bool {
        withUnsafeBytes { bytes in
            part.withUnsafeBytes { part in
                (0..<Swift.max(0, bytes.count - part.count)).contains {
                    memcmp(bytes.baseAddress! + $0, part.baseAddress!, part.count) == 0
                }
            }
        }
    }
}
