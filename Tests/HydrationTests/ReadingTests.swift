import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

@Suite(.timeLimit(.minutes(10))) struct ReadingTests {
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func readsAtAnyOffsetGiveTheSendersBytes(seed: UInt64) async throws {
        let stage = try Stage()
        let source = MemorySource(size: 3_000_001, relay: "a", seed: seed)
        let file = stage.hydrator.open(stage.offer(source))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<20 {
                group.addTask {
                    var dice = Dice(seed: seed * 100 + UInt64(reader))
                    for _ in 0..<20 {
                        let start = UInt64.random(in: 0..<3_100_000, using: &dice)
                        let range = start..<start + UInt64.random(in: 0...200_000, using: &dice)
                        let expected = Pattern.bytes(range.clamped(to: 0..<3_000_001), seed: seed)
                        let found = try await file.bytes(range)
                        if found != expected { Issue.record("wrong bytes at \(range)") }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(source.fetches.sorted() == Array(0..<source.chunks.count))
        #expect(source.behaviour.withLock { $0.maxInFlight } <= 4)
        file.close()
        await stage.hydrator.shutDown()
    }

    @Test func firstByteNeedsFirstChunkOnly() async throws {
        let stage = try Stage()
        let source = MemorySource(size: 20 * 65_536)
        let file = stage.hydrator.open(stage.offer(source))
        #expect(file.immediate(0..<1) == .pending)
        #expect(try await file.bytes(0..<1) == Pattern.bytes(0..<1, seed: 1))
        #expect(source.fetches == [0])
        // The first chunk is local, the next one is not.
        #expect(file.immediate(0..<65_000) == .filled(65_000))
        #expect(file.immediate(65_000..<66_000) == .pending)
        await stage.hydrator.shutDown()
    }

    @Test func jumpFetchesHeaderAndItsChunk() async throws {
        let stage = try Stage()
        let source = MemorySource(size: 20 * 65_536)
        let file = stage.hydrator.open(stage.offer(source))
        let range = UInt64(12 * 65_536 + 1000)..<UInt64(12 * 65_536 + 2000)
        #expect(try await file.bytes(range) == Pattern.bytes(range, seed: 1))
        #expect(source.fetches.sorted() == [0, 12])
        await stage.hydrator.shutDown()
    }

    @Test func completeReadIsKeptAsCryptoFile() async throws {
        let stage = try Stage()
        let size: UInt64 = 5 * 65_536 + 17
        let source = MemorySource(size: size)
        let file = stage.hydrator.open(stage.offer(source))
        let changes = stage.hydrator.changes()
        #expect(try await file.bytes(0..<size) == Pattern.bytes(0..<size, seed: 1))
        try await wait(until: "the whole is kept") {
            stage.core.state.withLock { $0.completed[FileID(1)] != nil }
                && stage.hydrator.condition(of: FileID(1)).cached == 0
        }
        #expect(stage.hydrator.condition(of: FileID(1)).stage == .complete)
        #expect(stage.hydrator.condition(of: FileID(1)).progress == 100)
        #expect(try await file.bytes(65_000..<70_000) == Pattern.bytes(65_000..<70_000, seed: 1))

        // The next mount finds the copy and serves it without a relay.
        let location = try #require(stage.core.state.withLock { $0.completed[FileID(1)] })
        let next = try Stage()
        let stored = next.hydrator.open(next.item(1, size: size, status: .rcvComplete, source: location))
        #expect(try await stored.bytes(0..<size) == Pattern.bytes(0..<size, seed: 1))
        #expect(next.core.state.withLock { $0.claimCount } == 0)
        await stage.hydrator.shutDown()
        await next.hydrator.shutDown()
        var told: Set<HydrationChange> = []
        for await change in changes { told.insert(change) }
        #expect(told == [.conditionChanged(FileID(1))])
    }

    @Test func paddingChunkIsFetchedForTheWhole() async throws {
        let stage = try Stage()
        // Header (14 bytes) and content fill two chunks exactly; the tag lies in a third.
        let source = MemorySource(size: 2 * 65_536 - 14 - 10, name: "file")
        #expect(source.header.count == 14 && source.chunks.count == 3)
        let file = stage.hydrator.open(stage.offer(source))
        _ = try await file.bytes(0..<source.contentSize)
        try await wait(until: "the whole is kept") {
            stage.core.state.withLock { $0.completed[FileID(1)] != nil }
        }
        #expect(source.fetches.sorted() == [0, 1, 2])
        await stage.hydrator.shutDown()
    }

    @Test func storedFileIsVerifiedOnce() async throws {
        let stage = try Stage()
        let plain = Pattern.bytes(0..<300_000, seed: 5)
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(plain, to: path)
        let item = stage.item(
            7, size: 300_000, status: .rcvComplete,
            source: FileSourceLocation(path: path, arguments: arguments))
        let file = stage.hydrator.open(item)
        #expect(file.immediate(0..<10) == .pending)
        #expect(try await file.bytes(100_000..<200_000) == Array(plain[100_000..<200_000]))
        #expect(file.immediate(299_990..<300_010) == .filled(10))
        #expect(file.immediate(300_000..<300_010) == .filled(0))
        await stage.hydrator.shutDown()
    }

    @Test func plainCopyIsReadUnchanged() async throws {
        let stage = try Stage()
        let path = try stage.folder.write([1, 2, 3, 4], to: "plain")
        let item = stage.item(
            7, size: 4, status: .sndComplete, source: FileSourceLocation(path: path, arguments: nil))
        let file = stage.hydrator.open(item)
        #expect(try await file.bytes(1..<4) == [2, 3, 4])
        let wrong = stage.hydrator.open(
            stage.item(8, size: 5, status: .sndComplete, source: item.file?.source))
        await expectProblem(.damaged) { try await wrong.bytes(0..<1) }
        await stage.hydrator.shutDown()
    }

    /// A user of the official core, which stores plain files, may truncate them.
    @Test func shrinkingPlainCopyIsAnError() async throws {
        let stage = try Stage()
        let path = try stage.folder.write([UInt8](repeating: 7, count: 1000), to: "plain")
        let file = stage.hydrator.open(
            stage.item(
                7, size: 1000, status: .sndComplete, source: FileSourceLocation(path: path, arguments: nil)))
        #expect(try await file.bytes(0..<1000).count == 1000)
        try OpenFile(path, flags: O_RDWR).truncate(to: 500)
        #expect(try await file.bytes(0..<500) == [UInt8](repeating: 7, count: 500))
        await expectProblem(.damaged) { try await file.bytes(400..<600) }
        await expectProblem(.damaged) { try await file.bytes(500..<1000) }
        await stage.hydrator.shutDown()
    }

    @Test func damagedCopyIsNeverServed() async throws {
        let stage = try Stage()
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted([UInt8](repeating: 1, count: 100_000), to: path)
        let stored = try OpenFile(path, flags: 2)
        try stored.write([stored.read(count: 1, at: 99_999)[0] ^ 1], at: 99_999)
        let item = stage.item(
            7, size: 100_000, status: .rcvComplete,
            source: FileSourceLocation(path: path, arguments: arguments))
        let file = stage.hydrator.open(item)
        await expectProblem(.damaged) { try await file.bytes(0..<1) }
        #expect(stage.hydrator.condition(of: FileID(7)).problem?.kind == .damaged)
        await stage.hydrator.shutDown()
    }

    @Test func fileForCoreOnlyIsServedWhenReceived() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.claims[FileID(3)] = .success(nil) }
        let plain = Pattern.bytes(0..<50_000, seed: 2)
        let file = stage.hydrator.open(stage.item(3, size: 50_000))
        let early = Task { try await file.bytes(0..<50_000) }
        try await wait(until: "the core was asked") {
            stage.core.state.withLock { $0.received == [FileID(3)] }
        }
        #expect(stage.hydrator.condition(of: FileID(3)).stage == .receiving)
        stage.hydrator.update(
            stage.item(3, size: 50_000, status: .rcvTransfer(received: 1, total: 2)))
        let path = stage.folder.path("received")
        let arguments = try stage.encrypted(plain, to: path)
        stage.hydrator.update(
            stage.item(
                3, size: 50_000, status: .rcvComplete,
                source: FileSourceLocation(path: path, arguments: arguments)))
        #expect(try await early.value == plain)
        await stage.hydrator.shutDown()
    }

    @Test func readDuringUploadWaitsForDescription() async throws {
        let stage = try Stage()
        let source = MemorySource(size: 1 << 20)
        let described = stage.offer(source)
        stage.core.state.withLock { $0.claims[FileID(1)] = .success(nil) }
        let file = stage.hydrator.open(
            stage.item(1, size: 1 << 20, status: .rcvInvitation(described: false)))
        let early = Task { try await file.bytes(0..<10) }
        try await wait(until: "the core was asked") { stage.core.state.withLock { $0.claimCount == 1 } }
        stage.core.state.withLock { $0.claims[FileID(1)] = .success("1") }
        stage.hydrator.update(described)
        #expect(try await early.value == Pattern.bytes(0..<10, seed: 1))
        #expect(source.fetches == [0])
        #expect(stage.core.state.withLock { $0.received } == [])
        await stage.hydrator.shutDown()
    }

    @Test func coreFailureReachesTheReader() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.claims[FileID(3)] = .success(nil) }
        let file = stage.hydrator.open(stage.item(3, size: 50_000))
        let early = Task { try await file.bytes(0..<1) }
        try await wait(until: "the core was asked") {
            stage.core.state.withLock { $0.received == [FileID(3)] }
        }
        let problem = FileProblem(.expired, "The relay no longer has it.")
        stage.hydrator.update(stage.item(3, size: 50_000, status: .rcvError(problem)))
        await expectProblem(.expired) { try await early.value }
        await stage.hydrator.shutDown()
    }

    @Test func twentyMebibytesTakeMemoryOfFewChunks() async throws {
        let stage = try Stage()
        let size: UInt64 = 20 << 20
        let source = MemorySource(size: size, chunkSize: 1 << 20)
        let file = stage.hydrator.open(stage.offer(source))
        var position: UInt64 = 0
        while position < size {
            let range = position..<min(position + 131_072, size)
            #expect(try await file.bytes(range) == Pattern.bytes(range, seed: 1))
            position = range.upperBound
        }
        #expect(source.behaviour.withLock { $0.maxInFlight } <= 4)
        #expect(source.fetches.count == source.chunks.count)
        // Sequential reading was detected: most chunks arrived before their reads.
        #expect(source.behaviour.withLock { $0.maxInFlight } > 1)
        await stage.hydrator.shutDown()
    }
}

func expectProblem(
    _ kind: FileProblem.Kind, _ body: () async throws -> [UInt8], location: SourceLocation = #_sourceLocation
) async {
    do {
        _ = try await body()
        Issue.record("the read succeeded", sourceLocation: location)
    } catch let failure as ReadFailure {
        #expect(failure.problem.kind == kind, sourceLocation: location)
    } catch {
        Issue.record(error, sourceLocation: location)
    }
}
