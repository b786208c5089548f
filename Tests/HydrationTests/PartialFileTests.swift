import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

/// Partly received files outlive their mount.
@Suite struct PartialFileTests {
    private static let chunk: UInt64 = 65_536
    private static let size = 10 * chunk
    private static let parts = [10..<20, 4 * chunk..<5 * chunk, 7 * chunk..<8 * chunk]
    private static let id = FileID(1)
    /// Bytes on the disk; the filesystem may add a block for the places of the chunks.
    private static let onDisk = 5 * chunk..<5 * chunk + chunk / 4

    /// A file whose first, fifth, sixth, eighth and ninth chunk are on the disk: the header moves the content.
    private func partlyRead(_ source: MemorySource, in stage: Stage) async throws -> ChatItem {
        let item = stage.offer(source)
        let file = stage.hydrator.open(item)
        try await expectParts(of: file)
        try await wait(until: "they are stored") { stage.chunksOnDisk(of: Self.id) == [0, 4, 5, 7, 8] }
        file.close()
        return item
    }

    /// A mount that read parts of a file and ended.
    private func ended(_ source: MemorySource) async throws -> (stage: Stage, item: ChatItem) {
        let stage = try Stage(settings: Self.settings)
        let item = try await partlyRead(source, in: stage)
        await stage.hydrator.shutDown()
        return (stage, item)
    }

    /// The mount after one that read parts of a file.
    /// - Parameter between: Runs between the mounts.
    private func nextMount(
        of source: MemorySource = MemorySource(size: Self.size), settings: HydrationSettings = Self.settings,
        between: (Stage) throws -> Void = { _ in }
    ) async throws -> (next: Stage, item: ChatItem) {
        let (stage, item) = try await ended(source)
        try between(stage)
        return (try Stage(settings: settings, after: stage), item)
    }

    private func expectParts(of file: HydratedFile) async throws {
        for range in Self.parts { #expect(try await file.bytes(range) == Pattern.bytes(range, seed: 1)) }
    }

    private static var settings: HydrationSettings {
        var settings = HydrationSettings()
        settings.finishesWhatWasRead = false
        settings.chunksAhead = 0
        return settings
    }

    private func files(of stage: Stage) throws -> [String] { try stage.folder.names(in: "staging/received") }

    @Test(arguments: [true, false])
    func nextMountContinues(isKilled: Bool) async throws {
        let stage = try Stage(settings: Self.settings)
        let source = MemorySource(size: Self.size)
        let item = try await partlyRead(source, in: stage)
        if !isKilled { await stage.hydrator.shutDown() }
        #expect(try files(of: stage).count == 1)

        let next = try Stage(settings: Self.settings, after: stage)
        #expect(next.hydrator.filesOfEarlierMounts == [Self.id])
        #expect(Self.onDisk.contains(next.hydrator.condition(of: Self.id).cached))
        #expect(45...47 ~= next.hydrator.condition(of: Self.id).progress)
        #expect(Self.onDisk.contains(next.hydrator.cacheReport().bytesOnDisk))
        next.hydrator.resume(item)
        #expect(next.hydrator.present().map(\.id) == [item.id])
        // No relay answers.
        source.behaviour.withLock { $0.failsAlways = XFTPError(.unreachable, "no connection") }
        let before = source.fetches.count
        let file = next.hydrator.open(item)
        _ = try await file.bytes(0..<1)
        #expect(45...47 ~= next.hydrator.condition(of: Self.id).progress)
        #expect(next.hydrator.condition(of: Self.id).cached == 5 * Self.chunk)
        try await expectParts(of: file)
        #expect(source.fetches.count == before)

        source.behaviour.withLock { $0.failsAlways = nil }
        #expect(await next.hydrator.hydrate(item) == nil)
        #expect(try await file.bytes(0..<Self.size) == Pattern.bytes(0..<Self.size, seed: 1))
        #expect(source.fetches.dropFirst(before).sorted() == [1, 2, 3, 6, 9, 10])
        #expect(try files(of: next) == [])
        file.close()
        await next.hydrator.shutDown()
        await stage.hydrator.shutDown()
    }

    /// Memory may hold bytes that failed to reach the disk.
    @Test func chunksAreReadFromTheDisk() async throws {
        let source = MemorySource(size: Self.size)
        let (stage, item) = try await ended(source)
        let name = try #require(try files(of: stage).first)
        let disk = try OpenFile(stage.folder.path("staging/received/" + name), flags: O_RDONLY)
        try disk.synchronise()
        disk.dropFromMemory(0..<4096)
        // Some filesystems have no disk.
        if disk.isInMemory(at: 0) { return }
        _ = try disk.read(count: 1 << 20, at: 0)
        #expect(disk.isInMemory(at: 0))

        let next = try Stage(settings: Self.settings, after: stage)
        let file = next.hydrator.open(item)
        try await expectParts(of: file)
        #expect(source.behaviour.withLock(\.readFromMemory) == [])
        file.close()
        await next.hydrator.shutDown()
    }

    @Test func unreadableChunkIsFetchedAgain() async throws {
        let source = MemorySource(size: Self.size)
        let (next, item) = try await nextMount(of: source)
        source.behaviour.withLock { $0.unreadable = [4] }
        let before = source.fetches.count
        let file = next.hydrator.open(item)
        try await expectParts(of: file)
        #expect(Array(source.fetches.dropFirst(before)) == [4])
        file.close()
        await next.hydrator.shutDown()
    }

    @Test func chunksStayReadableWithoutTheOthers() async throws {
        let source = MemorySource(size: Self.size)
        let (next, item) = try await nextMount(of: source)
        source.behaviour.withLock { $0.failsAlways = XFTPError(.relay(.authorization), "gone") }
        let file = next.hydrator.open(item)
        await #expect(throws: (any Error).self) { try await file.bytes(Self.chunk..<Self.chunk + 1) }
        try await expectParts(of: file)
        next.hydrator.remove(Self.id)
        let last = 8 * Self.chunk..<8 * Self.chunk + 10
        #expect(try await file.bytes(last) == Pattern.bytes(last, seed: 1))
        file.close()
        await next.hydrator.shutDown()
    }

    @Test func chunksAreReadBesideASilentRelay() async throws {
        let source = MemorySource(size: Self.size)
        var settings = Self.settings
        settings.fetching.chunksPerFile = 1
        settings.fetching.chunksPerRelay = 1
        settings.fetching.chunksInFlight = 1
        let (next, item) = try await nextMount(of: source, settings: settings)
        let silence = Gate()
        source.behaviour.withLock { $0.gate = silence }
        let file = next.hydrator.open(item)
        let range = Self.chunk..<Self.chunk + 1
        async let missing = file.bytes(range)
        try await wait(until: "it is fetched") { silence.waiting == 1 }
        try await expectParts(of: file)
        silence.open()
        #expect(try await missing == Pattern.bytes(range, seed: 1))
        file.close()
        await next.hydrator.shutDown()
    }

    @Test func unmountDuringPreparationKeepsThem() async throws {
        let (next, item) = try await nextMount()
        let gate = Gate()
        next.core.state.withLock { $0.claimGate = gate }
        let file = next.hydrator.open(item)
        async let read = try? file.bytes(0..<1)
        try await wait(until: "it is claimed") { gate.waiting == 1 }
        await next.hydrator.shutDown()
        #expect(await read == nil)
        file.close()
        next.core.state.withLock { $0.claimGate = nil }
        let last = try Stage(settings: Self.settings, after: next)
        #expect(last.hydrator.filesOfEarlierMounts == [Self.id])
        await last.hydrator.shutDown()
    }

    @Test func damagedChunkIsFetchedAgain() async throws {
        let source = MemorySource(size: Self.size)
        let (next, item) = try await nextMount(of: source) { stage in
            let name = try #require(try files(of: stage).first)
            try OpenFile(stage.folder.path("staging/received/" + name), flags: O_RDWR)
                .write([1, 2, 3, 4], at: 5 * Self.chunk - 4)
        }
        let before = source.fetches.count
        let file = next.hydrator.open(item)
        try await expectParts(of: file)
        #expect(Array(source.fetches.dropFirst(before)) == [4])
        file.close()
        await next.hydrator.shutDown()
    }

    /// Its description, and so its key, may be another one.
    @Test func fileOfAnotherDescriptionIsReplaced() async throws {
        for size in [Self.size, 2 * Self.size] {
            let (next, _) = try await nextMount()
            let source = MemorySource(size: size)
            let file = next.hydrator.open(next.offer(source))
            try await expectParts(of: file)
            #expect(source.fetches.sorted() == [0, 4, 5, 7, 8])
            #expect(try files(of: next).count == 1)
            file.close()
            await next.hydrator.shutDown()
        }
    }

    private static let ends: [@Sendable (Stage, ChatItem) async throws -> Void] = [
        { stage, _ in stage.hydrator.remove(id) },
        { stage, item in
            let file = stage.hydrator.open(item)
            stage.hydrator.remove(id, atOnce: true)
            file.close()
        },
        { stage, _ in _ = stage.hydrator.dehydrate(id) },
        { stage, _ in _ = await stage.hydrator.cancel(id) },
        { stage, _ in stage.hydrator.clearCache() },
        { stage, _ in stage.hydrator.resume(stage.item(1, size: size, status: .rcvComplete)) },
        { stage, item in
            let file = stage.hydrator.open(item)
            _ = try await file.bytes(0..<1)
            file.close()
            #expect(stage.hydrator.dehydrate(id))
        },
    ]

    @Test(arguments: ends.indices)
    func isDeletedWhenUnwanted(end: Int) async throws {
        let (next, item) = try await nextMount()
        try await Self.ends[end](next, item)
        try await wait(until: "it is gone") {
            try files(of: next) == [] && next.hydrator.cacheReport().bytesOnDisk == 0
        }
        #expect(next.hydrator.condition(of: Self.id).cached == 0)
        await next.hydrator.shutDown()
    }

    @Test func makesRoomForOtherFiles() async throws {
        var settings = Self.settings
        settings.cacheLimit = 6 * Self.chunk + Self.chunk / 2
        let (next, _) = try await nextMount(settings: settings)
        let other = next.hydrator.open(next.offer(MemorySource(size: Self.size, seed: 2), id: 2))
        #expect(try await other.bytes(0..<1) == Pattern.bytes(0..<1, seed: 2))
        try await wait(until: "it is stored") { next.chunksOnDisk(of: FileID(2)) == [0] }
        #expect(Self.onDisk.contains(next.hydrator.condition(of: Self.id).cached))
        let range = Self.chunk..<2 * Self.chunk
        #expect(try await other.bytes(range) == Pattern.bytes(range, seed: 2))
        try await wait(until: "they are stored") { next.chunksOnDisk(of: FileID(2)) == [0, 1, 2] }
        #expect(next.hydrator.condition(of: Self.id).cached == 0)
        #expect(try files(of: next).count == 1)
        other.close()
        await next.hydrator.shutDown()
    }

    @Test func pinnedPartIsNotEvicted() async throws {
        let (stage, _) = try await ended(MemorySource(size: Self.size))
        var settings = Self.settings
        settings.cacheLimit = 6 * Self.chunk + Self.chunk / 2
        _ = try stage.folder.makeFolder("profile")
        _ = try stage.folder.write(Array("1\n".utf8), to: "profile/pinned")
        let retention = try RetentionList(in: OpenFile(stage.folder.path("profile"), flags: O_RDONLY))
        let next = try Stage(settings: settings, retention: retention, after: stage)
        next.hydrator.clearCache()
        #expect(!next.hydrator.dehydrate(Self.id))
        let other = next.hydrator.open(next.offer(MemorySource(size: Self.size, seed: 2), id: 2))
        for chunk in UInt64(0)..<3 {
            let range = chunk * Self.chunk..<(chunk + 1) * Self.chunk
            #expect(try await other.bytes(range) == Pattern.bytes(range, seed: 2))
        }
        #expect(Self.onDisk.contains(next.hydrator.condition(of: Self.id).cached))
        other.close()
        await next.hydrator.shutDown()
        #expect(try files(of: next).contains { $0.hasPrefix("1-") })
    }

    /// The hydrator gives a complete file such a name before the core records it.
    @Test func namesOfUnrecordedFilesAreRemoved() async throws {
        let (stage, _) = try await ended(MemorySource(size: Self.size))
        let part = stage.folder.path("staging/received/" + (try #require(try files(of: stage).first)))
        #expect(link(part, stage.folder.path("staging/received-x")) == 0)
        let next = try Stage(settings: Self.settings, after: stage)
        #expect(next.hydrator.filesOfEarlierMounts == [Self.id])
        #expect(try stage.folder.names(in: "staging") == ["received", "tags"])
        await next.hydrator.shutDown()
        // The core has recorded it.
        #expect(link(part, stage.folder.path("recorded")) == 0)
        let last = try Stage(settings: Self.settings, after: next)
        #expect(last.hydrator.filesOfEarlierMounts == [])
        #expect(try files(of: last) == [])
        await last.hydrator.shutDown()
    }

    @Test(arguments: ["its place is a link", "the key is wrong"])
    func partOfAFailedOpeningStays(cause: String) async throws {
        let source = MemorySource(size: Self.size)
        let (next, _) = try await nextMount(of: source)
        let names = try files(of: next)
        var arguments = source.arguments
        if cause == "the key is wrong" {
            arguments = FileArguments(key: [], nonce: arguments.nonce)
        } else {
            let part = next.folder.path("staging/received/" + (try #require(names.first)))
            #expect(rename(part, next.folder.path("part")) == 0)
            #expect(symlink(next.folder.path("part"), part) == 0)
        }
        let layout = try #require(ChunkLayout(source.chunks))
        let cache = next.hydrator.context.cache
        #expect(throws: (any Error).self) {
            try cache.makeStore(Self.id, layout, arguments, .stream, content: 0..<Self.size)
        }
        #expect(next.hydrator.filesOfEarlierMounts == [Self.id])
        #expect(Self.onDisk.contains(next.hydrator.cacheReport().bytesOnDisk))
        #expect(try files(of: next) == names)
        await next.hydrator.shutDown()
    }

    @Test func nameStaysWithoutANewFile() throws {
        let folder = try TemporaryFolder()
        let staging = try OpenFile(folder.path, flags: O_RDONLY)
        let part = try PartialFileFolder(in: staging, keeps: true, Budget()).open(Self.id, size: 10)
        let names = try folder.names(in: "received")
        let device = try OpenFile("/dev/null", flags: O_RDWR)
        #expect(throws: SystemError.self) { try part.replace(with: device) }
        #expect(try folder.names(in: "received") == names)
        let other = try OpenFile.unnamed(in: staging)
        try other.write([1, 2, 3], at: 0)
        try part.replace(with: other)
        #expect(try folder.names(in: "received") == names)
        #expect(try folder.read("received/" + (try #require(names.first))) == [1, 2, 3])
        part.remove()
        #expect(try folder.names(in: "received") == [])
    }

    /// A kill during a replacement or a creation leaves several files.
    @Test func largestFileOfANumberIsKept() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("received")
        for (name, count) in [
            ("5-0a", 1), ("5-0b", 40_000), ("5-0c", 1), ("6-0a", 1), (".0a", 1), ("8", 1), ("x-0a", 1),
        ] {
            _ = try folder.write([UInt8](repeating: 1, count: count), to: "received/" + name)
        }
        let staging = try OpenFile(folder.path, flags: O_RDONLY)
        let files = try NumberedFiles("received", in: staging) { _ in true }
        #expect(files.all.mapValues(\.name) == [FileID(5): "5-0b", FileID(6): "6-0a"])
        #expect(try folder.names(in: "received") == ["5-0b", "6-0a"])
    }

    @Test func nothingStaysForACacheInMemory() async throws {
        let stage = try Stage(settings: Self.settings)
        stage.core.state.withLock { $0.keepsStreams = true }
        let item = try await partlyRead(MemorySource(size: Self.size), in: stage)
        await stage.hydrator.shutDown()
        var settings = Self.settings
        settings.cacheMode = .memory
        let next = try Stage(settings: settings, after: stage)
        #expect(try files(of: next) == [])
        let file = next.hydrator.open(item)
        try await expectParts(of: file)
        #expect(try files(of: next) == [], "it would outlive a kill")
        #expect(await next.hydrator.hydrate(item) == nil)
        #expect(try await file.bytes(0..<Self.size) == Pattern.bytes(0..<Self.size, seed: 1))
        file.close()
        await next.hydrator.shutDown()
        #expect(try files(of: next) == [])
    }
}
