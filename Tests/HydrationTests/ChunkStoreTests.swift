import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

/// The places of received chunks, and the copy that they become.
@Suite struct ChunkStoreTests {
    private static let chunk: UInt64 = 65_536
    private static let size = 10 * chunk + 5

    private struct Parts {
        let folder: TemporaryFolder
        let source = MemorySource(size: ChunkStoreTests.size)
        let usage = Budget()
        let store: ChunkStore

        init(_ form: ChunkStore.Form, memory: UInt64 = 1 << 20, isInMemory: Bool = false) throws {
            folder = try TemporaryFolder()
            let path = try folder.makeFolder("staging")
            let staging = try OpenFile(path, flags: O_RDONLY)
            let partial = try PartialFileFolder(in: staging, keeps: true, usage)
            store = try ChunkStore(
                number: 1, #require(ChunkLayout(source.chunks)), source.arguments, form,
                in: isInMemory
                    ? .memory : .partial(partial.open(FileID(1), size: source.streamSize), staging: staging),
                content: UInt64(source.header.count)..<UInt64(source.header.count) + ChunkStoreTests.size,
                memory: ChunkMemory(limit: memory), unread: ChunkMemory(limit: 2 * ChunkStoreTests.chunk),
                usage: usage)
        }

        func fetch(_ chunk: Int) async throws -> any FetchedChunk { try await source.fetch(chunk) { _ in } }

        func write(_ chunks: some Sequence<Int>) async throws {
            for chunk in chunks {
                let fetched = try await fetch(chunk)
                store.hold(fetched, chunk)
                #expect(try store.write(fetched, chunk))
            }
        }

        var content: Range<UInt64> {
            UInt64(source.header.count)..<UInt64(source.header.count) + ChunkStoreTests.size
        }

        /// Reads a range of the content; nil if a part is missing.
        func read(_ range: Range<UInt64>) throws -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: range.count)
            let isHere = try bytes.withUnsafeMutableBytes {
                try store.read(into: $0, at: content.lowerBound + range.lowerBound)
            }
            return isHere ? bytes : nil
        }

        func expectRead(_ range: Range<UInt64>) throws {
            #expect(try read(range) == Pattern.bytes(range, seed: 1))
        }

        /// The copy is the content, or the whole stream under its own key.
        func expectCopy(at name: String) throws {
            let path = folder.path(name)
            let arguments = try #require(try store.makeCopy(at: path, content: content)).arguments
            #expect((arguments.content != nil) == (store.form == .stream))
            if store.form == .stream {
                #expect(arguments.key == source.arguments.key && arguments.nonce == source.arguments.nonce)
                #expect(try folder.read(name).count == Int(source.streamSize))
            }
            let reader = try CryptoFileReader(
                file: OpenFile(path, flags: O_RDONLY), arguments: arguments)
            var bytes: [UInt8] = []
            try reader.decrypt { bytes += $0 }
            #expect(bytes == Pattern.bytes(0..<ChunkStoreTests.size, seed: 1))
        }
    }

    @Test func chunksServeReadsFromEachPlace() async throws {
        let parts = try Parts(.stream)
        let store = parts.store
        try await parts.write([7, 3])
        let (arrived, inMemory) = (try await parts.fetch(4), try await parts.fetch(5))
        store.hold(arrived, 4)
        store.hold(inMemory, 5)
        #expect(store.keepInMemory(inMemory, 5).isEmpty)
        #expect(store.chunksInMemory.map(\.number) == [5])
        try parts.expectRead(3 * Self.chunk..<6 * Self.chunk - 100)
        #expect(try parts.read(5 * Self.chunk..<7 * Self.chunk) == nil)
        #expect(parts.usage.used == 2 * Self.chunk && store.bytesOnDisk == 2 * Self.chunk)
        #expect(try store.write(inMemory, 5) && store.isOnDisk(5) && store.chunksInMemory.isEmpty)
        try parts.expectRead(4 * Self.chunk..<6 * Self.chunk - 100)
        store.forget(3)
        #expect(!store.holds(3) && parts.usage.used == 2 * Self.chunk)
        #expect(try store.write(try await parts.fetch(3), 3) == false, "it is no longer wanted")
        store.handOver()
        #expect(parts.usage.used == 0)
        try parts.expectRead(7 * Self.chunk..<7 * Self.chunk + 10)
        store.erase()
        #expect(!store.holds(7) && parts.usage.used == 0)
        #expect(try store.file?.size() == 0)
    }

    /// Shown by chunks that the disk has lost.
    @Test func awaitedChunksAreReadFromMemory() async throws {
        let parts = try Parts(.stream)
        let store = parts.store
        for chunk in [1, 2, 5, 6, 4, 7, 3] {
            let fetched = try await parts.fetch(chunk)
            store.hold(fetched, chunk)
            var isSecond = false
            let isKept = try store.write(fetched, chunk) { asked in
                defer { isSecond = asked == chunk }
                return asked > 2 || asked == 2 && !isSecond
            }
            #expect(isKept)
        }
        try store.file?.truncate(to: 0)
        let start = UInt64(parts.source.header.count)
        func content(of chunk: UInt64) -> Range<UInt64> {
            chunk * Self.chunk - start..<(chunk + 1) * Self.chunk - start
        }
        // Never awaited, passed during the write, and later than two others.
        for chunk: UInt64 in [1, 2, 5, 6, 7] {
            #expect(throws: DamagedChunks.self) { _ = try parts.read(content(of: chunk)) }
        }
        let front = content(of: 3)
        try parts.expectRead(front.lowerBound..<front.upperBound - 1)
        try parts.expectRead(front)
        #expect(throws: DamagedChunks.self, "the reader has passed it") { _ = try parts.read(front) }
        try parts.expectRead(content(of: 4).lowerBound..<content(of: 4).upperBound - 1)
        store.forgetUnread()
        #expect(throws: DamagedChunks.self) { _ = try parts.read(content(of: 4)) }
    }

    @Test func evictedChunksAreReleased() async throws {
        let parts = try Parts(.none, memory: 2 * Self.chunk, isInMemory: true)
        let store = parts.store
        for chunk in 0..<3 {
            let fetched = try await parts.fetch(chunk)
            store.hold(fetched, chunk)
            #expect(store.holds(chunk) && !store.isOnDisk(chunk))
            let evicted = store.keepInMemory(fetched, chunk)
            #expect(evicted == (chunk == 2 ? [ChunkMemory.Key(store: 1, chunk: 0)] : []))
        }
        #expect(!store.holds(0) && store.holds(1))
        #expect(try parts.read(5..<15) == nil)
        try parts.expectRead(Self.chunk..<Self.chunk + 10)
        #expect(parts.usage.used == 0)
    }

    @Test(arguments: [ChunkStore.Form.stream, .content])
    func copyCanBeMadeAgain(form: ChunkStore.Form) async throws {
        let parts = try Parts(form)
        try await parts.write(parts.source.chunks.indices.reversed())
        let file = try #require(parts.store.file).status().st_ino
        for name in ["first", "second"] {
            try parts.expectCopy(at: name)
            // The core refuses the copy and deletes it.
            unlink(parts.folder.path(name))
        }
        #expect(try parts.store.file?.status().st_ino == file, "the bytes are not copied")
        parts.store.handOver()
        #expect(try parts.folder.names(in: "staging/received") == [])
    }

    /// After a failed fsync another one succeeds without a write.
    @Test func copyAfterAFailedFsyncIsWrittenAgain() async throws {
        let parts = try Parts(.stream)
        try await parts.write(parts.source.chunks.indices)
        let file = try #require(parts.store.file)
        // Its fsync fails.
        let device = try OpenFile("/dev/null", flags: O_RDWR)
        parts.store.state.withLock { $0.file = device }
        #expect(throws: SystemError.self) { try parts.expectCopy(at: "copy") }
        parts.store.state.withLock { $0.file = file }
        try parts.expectCopy(at: "copy")
        let copy = try OpenFile(parts.folder.path("copy"), flags: O_RDONLY)
        #expect(try copy.status().st_ino != file.status().st_ino)
    }

    @Test(arguments: [ChunkStore.Form.stream, .content, .none])
    func missingAndDamagedChunksAreNamed(form: ChunkStore.Form) async throws {
        let parts = try Parts(form)
        try await parts.write(parts.source.chunks.indices)
        try parts.store.file?.write([1, 2, 3], at: 2 * Self.chunk + 5)
        parts.store.forget(6)
        let path = parts.folder.path("copy")
        let damage = #expect(throws: DamagedChunks.self) {
            _ = try parts.store.makeCopy(at: path, content: parts.content)
        }
        #expect(damage?.chunks.sorted() == [2, 6])
        #expect(access(path, F_OK) != 0)
    }

    @Test func wholeInMemoryIsVerified() async throws {
        for hasDamage in [false, true] {
            let parts = try Parts(.none, isInMemory: true)
            for chunk in parts.source.chunks.indices where !hasDamage || chunk != 3 {
                let fetched = try await parts.fetch(chunk)
                parts.store.hold(fetched, chunk)
                _ = parts.store.keepInMemory(fetched, chunk)
            }
            func copy() throws -> ChunkStore.Copy? {
                try parts.store.makeCopy(at: parts.folder.path("copy"), content: parts.content)
            }
            if hasDamage {
                #expect(throws: DamagedChunks.self) { try copy() }
            } else {
                #expect(try copy() == nil)
            }
        }
    }

    /// A file size limit acts like a full disk for one process, so it runs in its own.
    @Test(arguments: [true, false])
    func fullDiskLeavesChunksToWriteLater(keepsStream: Bool) async throws {
        await #expect(processExitsWith: .success) { [keepsStream] in
            signal(SIGXFSZ, SIG_IGN)
            let parts = try Parts(keepsStream ? .stream : .content)
            try await parts.write([1, 0])
            var limit = rlimit(rlim_cur: 150_000, rlim_max: rlim_t.max)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            try #require(setrlimit(resource, &limit) == 0)
            for chunk in 2..<parts.source.chunks.count {
                let fetched = try await parts.fetch(chunk)
                parts.store.hold(fetched, chunk)
                #expect(throws: SystemError.self) { try parts.store.write(fetched, chunk) }
                _ = parts.store.keepInMemory(fetched, chunk)
            }
            try parts.expectRead(0..<ChunkStoreTests.size)
            limit.rlim_cur = rlim_t.max
            try #require(setrlimit(resource, &limit) == 0)
            for (chunk, fetched) in parts.store.chunksInMemory {
                #expect(try parts.store.write(fetched, chunk))
            }
            try parts.expectCopy(at: "copy")
        }
    }
}
