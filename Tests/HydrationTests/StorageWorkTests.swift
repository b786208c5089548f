import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Hydration

/// Checking and writing a file run in parallel, and each continues if the other stops.
@Suite(.timeLimit(.minutes(10))) struct StorageWorkTests {
    private static let chunk: UInt32 = 1 << 20
    private static let size: UInt64 = 3 << 20

    private struct Parts {
        let folder: TemporaryFolder
        let source = MemorySource(
            size: StorageWorkTests.size, chunkSize: StorageWorkTests.chunk, isEncrypted: true)
        let stream: CachedStream
        let work: StorageWork

        init(keepsStream: Bool) throws {
            folder = try TemporaryFolder()
            let layout = try #require(ChunkLayout(source.chunks))
            stream = CachedStream(
                id: 1, layout: layout, disk: nil, memory: ChunkMemory(limit: 64 << 20), usage: CacheUsage())
            work = StorageWork(
                source: source, layout: layout, contentSize: StorageWorkTests.size,
                form: keepsStream
                    ? .stream(folder: try folder.makeFolder("staging"))
                    : .content(folder: try folder.makeFolder("staging")))
        }

        func fetch(_ chunk: Int) async throws -> any FetchedChunk { try await source.fetch(chunk) { _ in } }

        /// The written bytes are the content, or the whole stream.
        func expectWhole(keepsStream: Bool) throws {
            let path = folder.path("whole")
            let arguments = try #require(try work.finish(at: path)).arguments
            #expect((arguments.content != nil) == keepsStream)
            if keepsStream {
                #expect(arguments.key == source.arguments.key && arguments.nonce == source.arguments.nonce)
                #expect(try folder.read("whole").count == Int(source.streamSize))
            }
            let file = try OpenFile(path, flags: O_RDONLY)
            let reader = try CryptoFileReader(file: file, arguments: arguments)
            #expect(reader.size == StorageWorkTests.size)
            try reader.verify()
            var bytes = [UInt8](repeating: 0, count: Int(StorageWorkTests.size))
            try bytes.withUnsafeMutableBytes { _ = try reader.read(into: $0, at: 0) }
            #expect(bytes == Pattern.bytes(0..<StorageWorkTests.size, seed: 1))
        }
    }

    @Test(arguments: [false, true])
    func memoryAndCacheChunksFormOneFile(keepsStream: Bool) async throws {
        let parts = try Parts(keepsStream: keepsStream)
        for chunk in parts.source.chunks.indices {
            let fetched = try await parts.fetch(chunk)
            if chunk % 2 == 0 {
                try parts.work.store(chunk, fetched)
            } else {
                _ = parts.stream.keepInMemory(fetched, chunk)
                #expect(try parts.work.store(chunk, from: parts.stream))
            }
        }
        try parts.expectWhole(keepsStream: keepsStream)
    }

    /// A file size limit acts like a full disk for one process, so it runs in its own.
    @Test(arguments: [false, true], [false, true])
    func fullDiskResumesWithinAChunk(
        fromCache: Bool, keepsStream: Bool
    ) async throws {
        await #expect(processExitsWith: .success) { [fromCache, keepsStream] in
            signal(SIGXFSZ, SIG_IGN)
            let parts = try Parts(keepsStream: keepsStream)
            try parts.work.store(0, try await parts.fetch(0))
            var limit = rlimit(rlim_cur: 1_600_000, rlim_max: rlim_t.max)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            try #require(setrlimit(resource, &limit) == 0)
            let fetched = try await parts.fetch(1)
            #expect(throws: (any Error).self) { try parts.work.store(1, fetched) }
            limit.rlim_cur = rlim_t.max
            try #require(setrlimit(resource, &limit) == 0)
            if fromCache {
                _ = parts.stream.keepInMemory(fetched, 1)
                #expect(try parts.work.store(1, from: parts.stream))
            } else {
                try parts.work.store(1, fetched)
            }
            for chunk in 2..<parts.source.chunks.count {
                try parts.work.store(chunk, try await parts.fetch(chunk))
            }
            try parts.expectWhole(keepsStream: keepsStream)
        }
    }
}
