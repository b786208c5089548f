import Base
import ChatCore
import Posix
import TestSupport
import Testing

@testable import Hydration

/// One object per file for all its users, and the state shared by a hydrator's files.
@Suite(.timeLimit(.minutes(10))) struct SharingTests {
    private static let size: UInt64 = 3 * 65_536

    @Test func openingsShareOneObjectUntilUnused() async throws {
        let stage = try Stage()
        let item = stage.offer(MemorySource(size: Self.size))
        let registry = stage.hydrator.context.registry
        let (first, second) = (stage.hydrator.open(item), stage.hydrator.open(item))
        let object = try #require(registry[FileID(1)])
        #expect(stage.machine(of: FileID(1))?.opens == 2)
        first.close()
        #expect(registry[FileID(1)] === object)
        second.close()
        #expect(registry[FileID(1)] == nil)
        #expect(object.withMachine(\.isRetired))
        let again = stage.hydrator.open(item)
        #expect(registry[FileID(1)] !== object && registry[FileID(1)] != nil)
        again.close()
        await stage.hydrator.shutDown()
    }

    @Test func retiredObjectAnswersAndStaysRetired() async throws {
        let stage = try Stage()
        let item = stage.offer(MemorySource(size: Self.size))
        let file = stage.hydrator.open(item)
        let object = try #require(stage.hydrator.context.registry[FileID(1)])
        await stage.hydrator.shutDown()
        #expect(file.immediate(0..<10) == .failed(.leaving))
        if case .failed(.leaving) = await object.wait(for: .whole, timeout: .seconds(60)) {
        } else {
            Issue.record("who waits for a retired file is not answered")
        }
        object.step { machine, now in machine.update(item, now: now) + machine.remove(atOnce: true) }
        #expect(object.evict(invalidates: true))
        #expect(object.withMachine(\.phase.name) == .retired)
        file.close()
    }

    /// Openings, reads, evictions and removals in any order.
    @Test func concurrentUseFromManyThreadsIsSafe() async throws {
        let stage = try Stage()
        let sources = (1...3 as ClosedRange<UInt64>).map { MemorySource(size: Self.size, seed: $0) }
        let items = sources.enumerated().map { stage.offer($1, id: Int64($0 + 1)) }
        await withTaskGroup(of: Void.self) { group in
            for seed in 1...8 as ClosedRange<UInt64> {
                group.addTask {
                    var dice = Dice(seed: seed)
                    for _ in 0..<150 {
                        let index = Int.random(in: 0..<3, using: &dice)
                        switch Int.random(in: 0..<8, using: &dice) {
                        case 0: stage.hydrator.clearCache()
                        case 1: _ = stage.hydrator.dehydrate(FileID(Int64(index + 1)))
                        case 2: stage.hydrator.update(items[index])
                        case 3: _ = stage.hydrator.cacheReport()
                        default:
                            let file = stage.hydrator.open(items[index])
                            let start = UInt64.random(in: 0..<Self.size - 100, using: &dice)
                            let bytes = try? await file.bytes(start..<start + 100)
                            #expect(bytes == Pattern.bytes(start..<start + 100, seed: UInt64(index + 1)))
                            file.close()
                        }
                    }
                }
            }
        }
        for object in stage.hydrator.context.registry.all {
            #expect(object.withMachine(\.opens) == 0)
            #expect(object.withMachine(\.waiting.isEmpty))
        }
        await stage.hydrator.shutDown()
        #expect(stage.hydrator.context.registry.all.isEmpty)
    }

    @Test func retentionsAreSeparateAndUnsavedPinsFail() async throws {
        let requests = RetentionRequests(nil, finishesWhatWasRead: true)
        try await requests.setPinned(FileID(1), true)
        requests.setUnfinished(FileID(1), true)
        requests.setUnfinished(FileID(2), true)
        #expect(requests.of(FileID(1)) == [.pinned, .unfinished])
        #expect(requests.of(FileID(2)) == .unfinished)
        try await requests.setPinned(FileID(1), false)
        requests.setUnfinished(FileID(2), false)
        #expect(requests.of(FileID(1)) == .unfinished && requests.of(FileID(2)).isEmpty)
        #expect(requests.pinned.isEmpty && requests.unfinished == [FileID(1)])
    }
}
