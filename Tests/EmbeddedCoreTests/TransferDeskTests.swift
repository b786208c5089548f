import Base
import ChatCore
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct TransferDeskTests {
    private let retry = RetryPolicy(first: .milliseconds(1), longest: .milliseconds(4), tries: .max)

    @Test func noMoreThanTheSlotsRunAtOnceAndAllRunInTheEnd() async throws {
        let desk = TransferDesk(retry: retry, running: 2)
        let counts = Lock((running: 0, most: 0, ended: 0))
        for number in 1...20 {
            desk.start(FileID(Int64(number)), in: .upload) {
                counts.withLock { counts in
                    counts.running += 1
                    counts.most = max(counts.most, counts.running)
                }
                try? await Task.sleep(for: .milliseconds(2))
                counts.withLock { counts in
                    counts.running -= 1
                    counts.ended += 1
                }
                return false
            }
        }
        try await wait(until: "all have run") { counts.withLock { $0.ended } == 20 }
        #expect(counts.withLock { $0.most } <= 2)
        #expect(counts.withLock { $0.running } == 0)
    }

    @Test func workThatWantsMoreIsRepeatedUntilItIsStopped() async throws {
        let desk = TransferDesk(retry: retry)
        let tries = Lock(0)
        desk.start(FileID(1), in: .download) {
            tries.withLock { $0 += 1 }
            return true
        }
        try await wait(until: "it was tried five times") { tries.withLock { $0 } >= 5 }
        await desk.stop(FileID(1))
        let after = tries.withLock { $0 }
        #expect(!desk.isBusy(with: FileID(1)))
        try await Task.sleep(for: .milliseconds(30))
        #expect(tries.withLock { $0 } == after)
    }

    @Test func whoAsksAgainDoesNotWaitForTheNextTry() async throws {
        let desk = TransferDesk(
            retry: RetryPolicy(first: .seconds(3600), longest: .seconds(3600), tries: .max))
        let tries = Lock(0)
        desk.start(FileID(1), in: .download) {
            tries.withLock { $0 += 1 }
            return true
        }
        try await wait(until: "it was tried") { tries.withLock { $0 } == 1 }
        for number in 2...4 {
            try await wait(until: "it is tried again") {
                // Asking while it is being tried is too early: it has not failed yet.
                if tries.withLock({ $0 }) < number { desk.start(FileID(1), in: .download) { true } }
                return tries.withLock { $0 } == number
            }
        }
        await desk.stop(FileID(1))
        #expect(!desk.isBusy(with: FileID(1)))
    }

    @Test func whoWaitsInLineCanBeStoppedAndTheLineMovesOn() async throws {
        let desk = TransferDesk(retry: retry, running: 1)
        let order = Lock<[Int64]>([])
        let gate = Lock(false)
        desk.start(FileID(1), in: .upload) {
            while !gate.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
            order.withLock { $0.append(1) }
            return false
        }
        for number in Int64(2)...4 {
            desk.start(FileID(number), in: .upload) {
                order.withLock { $0.append(number) }
                return false
            }
        }
        await desk.stop(FileID(3))
        gate.withLock { $0 = true }
        try await wait(until: "the others have run") { order.withLock { $0.count } == 3 }
        #expect(Set(order.withLock { $0 }) == [1, 2, 4])
    }

    @Test func workOfAnotherLaneFollowsAndWorkOfTheSameIsNotDoubled() async throws {
        let desk = TransferDesk(retry: retry)
        let order = Lock<[String]>([])
        let gate = Lock(false)
        for _ in 0..<2 {
            desk.start(FileID(1), in: .upload) {
                while !gate.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
                order.withLock { $0.append("upload") }
                return false
            }
        }
        desk.start(FileID(1), in: .deletion) {
            order.withLock { $0.append("deletion") }
            return false
        }
        gate.withLock { $0 = true }
        try await wait(until: "both have run") { order.withLock { $0.count } == 2 }
        #expect(order.withLock { $0 } == ["upload", "deletion"])
    }

    @Test func aClosedDeskTakesNothingMore() async {
        let desk = TransferDesk(retry: retry)
        await desk.close()
        desk.start(FileID(1), in: .upload) {
            Issue.record("it ran")
            return false
        }
        #expect(!desk.isBusy(with: FileID(1)))
    }

    @Test func progressIsToldInHundredthsAndAtTheEnd() {
        let desk = TransferDesk(retry: retry)
        var told = 0
        for done in 0...10_000
        where desk.note(TransferProgress(done: UInt64(done), total: 10_000), of: FileID(1)) {
            told += 1
        }
        #expect((100...103).contains(told))
    }
}

@Suite struct EventHubTests {
    private func deletion(_ number: Int64) -> ChatEvent {
        .chatItemsDeleted([(chat: .notes(1), item: ItemID(number))], .deleted)
    }

    @Test func everyListenerGetsEveryEventInTheOrderOfTheTurns() async {
        let hub = EventHub()
        let streams = [hub.listen(), hub.listen()]
        let turns = (0..<5).map { _ in hub.turn() }
        // Handed over in another order, and one change failed.
        for turn in [3, 0, 4, 1, 2] {
            hub.deliver(turn == 1 ? [] : [deletion(Int64(turn))], turn: turns[turn])
        }
        hub.close()
        for stream in streams {
            var seen: [Int64] = []
            for await event in stream {
                if case .chatItemsDeleted(let items, _) = event { seen += items.map(\.item.rawValue) }
            }
            #expect(seen == [0, 2, 3, 4])
        }
    }

    @Test func aListenerThatComesLaterHearsOnlyWhatFollowsAndAClosedHubEndsAtOnce() async {
        let hub = EventHub()
        hub.tell(deletion(1))
        let stream = hub.listen()
        hub.tell(deletion(2))
        hub.close()
        var count = 0
        for await _ in stream { count += 1 }
        for await _ in hub.listen() { count += 100 }
        #expect(count == 1)
    }
}
