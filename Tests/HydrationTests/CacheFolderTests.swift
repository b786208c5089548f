import ChatCore
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

/// The content of the cache's disk.
@Suite struct CacheFolderTests {
    /// In the plain cache the search must find the bytes of a complete file, which validates the search.
    @Test(arguments: [CacheMode.sealed, .plain], [false, true])
    func onlyPlainCacheIsReadableOnDisk(mode: CacheMode, isReceivedByCore: Bool) async throws {
        var settings = HydrationSettings()
        settings.cacheMode = mode
        let stage = try Stage(settings: settings)
        stage.core.state.withLock { $0.receivesWhatIsClaimed = isReceivedByCore }
        let source = MemorySource(size: 10 * 65_536)
        let gate = Gate()
        source.behaviour.withLock { $0.gates[1] = gate }
        let file = stage.hydrator.open(stage.offer(source))
        let first = try await file.bytes(0..<60_000)
        let later = try await file.bytes(200_000..<400_000)
        try await wait(until: "what was read lies on the disk") {
            stage.chunksOnDisk(of: FileID(1)).isSuperset(of: 3...6)
        }
        #expect(try stage.folder.names(in: "cache") == [PrivateFolder.marker])
        #expect(try stage.folder.names(in: "staging") == ["received", "tags"])
        let unfinished = try stage.openFiles(in: isReceivedByCore ? "cache" : "staging")
            .map { try $0.readAll(limit: 4 << 20) }
        try #require(unfinished.count == 1 && unfinished[0].count > 400_000)
        for start in stride(from: 0, to: 59_000, by: 9877) {
            #expect(!unfinished[0].contains(first[start..<start + 16]))
            #expect(!unfinished[0].contains(later[start..<start + 16]))
        }
        gate.open()
        _ = try await file.bytes(0..<10 * 65_536)
        if !isReceivedByCore {
            try await wait(until: "it is kept") {
                stage.hydrator.condition(of: FileID(1)).isStored
            }
        }
        let caches = try stage.openFiles(in: "cache").map { try $0.readAll(limit: 4 << 20) }
        let isReadable = caches.contains { $0.contains(later[1000..<1016]) }
        #expect(isReadable == (mode == .plain && !isReceivedByCore))
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
