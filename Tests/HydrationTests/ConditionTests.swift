import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Hydration

@Suite("Conditions for users", .timeLimit(.minutes(10)))
struct ConditionTests {
    private static let size: UInt64 = 65_536 * 40

    private func condition(_ stage: Stage) -> HydrationCondition { stage.hydrator.condition(of: FileID(1)) }

    /// A stored file that the hydrator serves from the core's copy.
    private static func stored(on stage: Stage) throws -> (path: String, item: ChatItem) {
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(Pattern.bytes(0..<size, seed: 5), to: path)
        let source = FileSourceLocation(path: path, arguments: arguments)
        return (path, stage.item(1, size: size, status: .rcvComplete, source: source))
    }

    @Test func partlyReadFileIsIdleWithoutFetch() async throws {
        let stage = try Stage()
        let source = MemorySource(size: Self.size)
        let file = stage.hydrator.open(stage.offer(source))
        let changes = stage.hydrator.changes()
        _ = try await file.bytes(700_000..<700_010)
        try await wait(until: "it is idle") { condition(stage).stage == .idle }
        #expect(condition(stage).cached > 0 && condition(stage).progress < 100)
        file.close()
        #expect(condition(stage).stage == .idle)
        // The last notice matches the state: none follows.
        await stage.hydrator.shutDown()
        var count = 0
        for await change in changes where change == .conditionChanged(FileID(1)) { count += 1 }
        #expect(count >= 2)
    }

    @Test func fetchedFileIsReceiving() async throws {
        let stage = try Stage()
        let gate = Gate()
        let source = MemorySource(size: Self.size)
        source.behaviour.withLock { $0.gate = gate }
        let file = stage.hydrator.open(stage.offer(source))
        let reader = Task { try await file.bytes(0..<10) }
        try await wait(until: "the relay is asked") { gate.waiting >= 1 }
        #expect(condition(stage).stage == .receiving)
        gate.open()
        _ = try await reader.value
        file.close()
        await stage.hydrator.shutDown()
    }

    @Test func unwantedChunkIsNotReceiving() async throws {
        let stage = try Stage()
        let gate = Gate()
        let source = MemorySource(size: Self.size)
        source.behaviour.withLock { $0.gate = gate }
        let file = stage.hydrator.open(stage.offer(source))
        let reader = Task { try await file.bytes(0..<10) }
        try await wait(until: "the relay is asked") { gate.waiting >= 1 }
        reader.cancel()
        _ = await reader.result
        file.close()
        #expect(condition(stage).stage == .idle)
        gate.open()
        await stage.hydrator.shutDown()
    }

    @Test func undescribedFileIsIdleWithoutReader() async throws {
        let stage = try Stage()
        stage.core.state.withLock { $0.claims[FileID(1)] = .success(nil) }
        let item = stage.item(1, size: 10, status: .rcvInvitation(described: false))
        let file = stage.hydrator.open(item)
        let reader = Task { try await file.bytes(0..<10) }
        try await wait(until: "the core is awaited") {
            stage.machine(of: FileID(1))?.phase.name == .awaitingCore
        }
        #expect(condition(stage).stage == .receiving)
        reader.cancel()
        _ = await reader.result
        #expect(condition(stage).stage == .idle && condition(stage).problem == nil)
        let failure = await #expect(throws: ReadFailure.self) {
            try await file.bytes(0..<10, timeout: .milliseconds(50))
        }
        #expect(failure?.problem.kind == .timedOut && failure?.problem.sentence.contains("sender") == true)
        #expect(condition(stage).problem == failure?.problem)
        file.close()
        await stage.hydrator.shutDown()
    }

    @Test(arguments: [CacheMode.sealed, .plain])
    func hydratedMeansDecryptedBlocksInCache(mode: CacheMode) async throws {
        var settings = HydrationSettings()
        settings.cacheMode = mode
        let stage = try Stage(settings: settings)
        let item = stage.offer(MemorySource(size: Self.size))
        #expect(await stage.hydrator.hydrate(item) == nil)
        let condition = condition(stage)
        #expect(condition.stage == .complete && condition.isStored && condition.progress == 100)
        #expect(condition.isHydrated == (mode == .plain) && (condition.cached > 0) == (mode == .plain))
        #expect(stage.hydrator.cacheReport().files == (mode == .plain ? 1 : 0))
        #expect(stage.hydrator.dehydrate(FileID(1)))
        #expect(self.condition(stage) == HydrationCondition())
        await stage.hydrator.shutDown()
    }

    @Test func unusedDeletedCopyIsForgotten() async throws {
        let stage = try Stage()
        let (path, item) = try Self.stored(on: stage)
        let file = stage.hydrator.open(item)
        _ = try await file.bytes(0..<10)
        file.close()
        #expect(condition(stage).stage == .complete)
        unlink(path)
        stage.hydrator.update(stage.item(1, size: Self.size))
        #expect(condition(stage) == HydrationCondition())
        await stage.hydrator.shutDown()
    }

    @Test func readersOfDeletedCopyContinue() async throws {
        let stage = try Stage()
        let (path, item) = try Self.stored(on: stage)
        let file = stage.hydrator.open(item)
        _ = try await file.bytes(0..<10)
        unlink(path)
        let offered = stage.item(1, size: Self.size)
        stage.hydrator.update(offered)
        #expect(!condition(stage).isStored && !condition(stage).isHydrated)
        let second = stage.hydrator.open(offered)
        #expect(try await second.bytes(0..<Self.size) == Pattern.bytes(0..<Self.size, seed: 5))
        second.close()
        #expect(try await file.bytes(5..<10) == Pattern.bytes(5..<10, seed: 5))
        file.close()
        #expect(condition(stage) == HydrationCondition())
        await stage.hydrator.shutDown()
    }

    @Test func deletedCopyIsFetchedAgainToBeKept() async throws {
        let stage = try Stage()
        let (path, item) = try Self.stored(on: stage)
        let file = stage.hydrator.open(item)
        _ = try await file.bytes(0..<10)
        file.close()
        unlink(path)
        let offered = stage.offer(MemorySource(size: Self.size, seed: 5))
        stage.hydrator.update(offered)
        stage.hydrator.keep(offered)
        try await wait(until: "the core has it again") {
            stage.core.state.withLock { $0.completed[FileID(1)] != nil }
        }
        await stage.hydrator.shutDown()
    }

    @Test func lateOfferKeepsPresentCopy() async throws {
        let stage = try Stage()
        let (_, item) = try Self.stored(on: stage)
        let file = stage.hydrator.open(item)
        _ = try await file.bytes(0..<10)
        file.close()
        stage.hydrator.update(stage.item(1, size: Self.size))
        #expect(condition(stage).stage == .complete && condition(stage).isStored)
        await stage.hydrator.shutDown()
    }

    @Test func cancelAnswersWaitingReaders() async throws {
        let stage = try Stage()
        let gate = Gate()
        let source = MemorySource(size: Self.size)
        source.behaviour.withLock { $0.gate = gate }
        let item = stage.offer(source)
        let file = stage.hydrator.open(item)
        let reader = Task { try await file.bytes(0..<10) }
        try await wait(until: "the relay is asked") { gate.waiting >= 1 }
        #expect(await stage.hydrator.cancel(FileID(1)))
        await #expect(throws: (any Error).self) { try await reader.value }
        #expect(condition(stage).stage == .idle && condition(stage).problem == nil)
        file.close()
        gate.open()
        // The next opening fetches it.
        let next = stage.hydrator.open(item)
        #expect(try await next.bytes(0..<10) == Pattern.bytes(0..<10, seed: 1))
        next.close()
        await stage.hydrator.shutDown()
    }

    @Test func cancelRefusesLocalFile() async throws {
        let stage = try Stage()
        let item = stage.offer(MemorySource(size: Self.size))
        #expect(await stage.hydrator.hydrate(item) == nil)
        #expect(await !stage.hydrator.cancel(FileID(1)))
        await stage.hydrator.shutDown()
    }
}
