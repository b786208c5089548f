import Base
import ChatCore
import TestSupport
import Testing
import XFTP

@testable import Hydration

/// Random histories against the sent bytes: readers read anywhere and give up, chunks fail and arrive late, the cache
/// is small and cleared. Every read returns the right bytes.
@Suite struct ReferenceTests {
    private static let chunk: UInt64 = 65_536

    @Test(arguments: zip(1...9 as ClosedRange<UInt64>, (0..<3).flatMap { _ in CacheMode.allCases }))
    func randomReadsMatchTheReference(seed: UInt64, mode: CacheMode) async throws {
        var settings = HydrationSettings()
        settings.cacheMode = mode
        settings.cacheLimit = 12 * Self.chunk
        settings.failureMemory = .milliseconds(1)
        settings.pauseAfterFailure = .milliseconds(1)
        settings.finishesWhatWasRead = !seed.isMultiple(of: 2)
        let stage = try Stage(settings: settings)
        var dice = Dice(seed: seed)
        let sources = (1...4 as ClosedRange<UInt64>).map { number in
            MemorySource(size: UInt64.random(in: 1...30, using: &dice) * 20_011, seed: number)
        }
        let items = sources.enumerated().map { stage.offer($1, id: Int64($0 + 1)) }
        let seeds = (0..<6).map { _ in dice.next() as UInt64 }
        let served = try await withThrowingTaskGroup(of: Int.self) { group in
            for seed in seeds {
                group.addTask { try await Self.readAbout(stage, sources, items, seed: seed) }
            }
            return try await group.reduce(0, +)
        }
        #expect(served > 0)
        // In the end everything can be read.
        for source in sources { source.behaviour.withLock { $0.failures = [:] } }
        for (source, item) in zip(sources, items) {
            let file = stage.hydrator.open(item)
            let whole = try await Self.patiently { try await file.bytes(0..<source.contentSize) }
            #expect(whole == Pattern.bytes(0..<source.contentSize, seed: source.seed))
            file.close()
        }
        await stage.hydrator.shutDown()
    }

    /// One of several concurrent readers; returns the number of successful reads.
    private static func readAbout(
        _ stage: Stage, _ sources: [MemorySource], _ items: [ChatItem], seed: UInt64
    ) async throws -> Int {
        var dice = Dice(seed: seed)
        var served = 0
        for _ in 0..<60 {
            let index = Int.random(in: 0..<sources.count, using: &dice)
            let (source, item) = (sources[index], items[index])
            let start = UInt64.random(in: 0..<source.contentSize, using: &dice)
            let range = start..<min(source.contentSize, start + UInt64.random(in: 1...150_000, using: &dice))
            switch Int.random(in: 0..<12, using: &dice) {
            case 0:
                let failing = Int.random(in: 0..<source.chunks.count, using: &dice)
                source.behaviour.withLock { $0.failures[failing] = [XFTPError(.timedOut, "late")] }
            case 1: stage.hydrator.clearCache()
            case 2: _ = stage.hydrator.dehydrate(item.file!.id)
            case 3:
                let file = stage.hydrator.open(item)
                let reader = Task { try await file.bytes(range) }
                if Bool.random(using: &dice) { await Task.yield() }
                reader.cancel()
                if let bytes = try? await reader.value {
                    #expect(bytes == Pattern.bytes(range, seed: source.seed))
                }
                file.close()
            default:
                let file = stage.hydrator.open(item)
                do {
                    let bytes = try await file.bytes(range)
                    #expect(bytes == Pattern.bytes(range, seed: source.seed))
                    served += 1
                } catch let failure as ReadFailure {
                    #expect(failure.problem.kind == .timedOut)
                }
                file.close()
            }
        }
        return served
    }

    private static func patiently(_ read: () async throws -> [UInt8]) async throws -> [UInt8] {
        for _ in 0..<200 {
            if let bytes = try? await read() { return bytes }
            try await Task.sleep(for: .milliseconds(5))
        }
        return try await read()
    }
}
