import ChatCore
import Testing

@testable import Hydration

/// What the core is just doing with a file, by the machine's own clock.
@Suite struct HandingOverTests {
    private static let file = FileID(1)
    private static let places = Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 4)

    /// A file that somebody waits for as a whole; the answer to its `prepare` is still to come.
    private static func machine() -> (HydrationMachine, HydrationMachine.Generation, ChatItem) {
        var machine = HydrationMachine(settings: HydrationSettings())
        var item = World(seed: 1).item(file)
        item.file?.size = 4 * 65_536 - 1000
        machine.open(item, item.file!, now: .zero)
        for case .prepare(_, let generation) in machine.wait(
            1, file, for: .whole, patience: .seconds(9), now: .zero)
        {
            return (machine, generation, item)
        }
        fatalError("nothing was prepared")
    }

    /// The same, with all chunks through the check and the whole on its way into the core's keeping.
    private static func handingOver(
        isReceivedByCore: Bool
    ) -> (HydrationMachine, HydrationMachine.Generation) {
        var (machine, generation, _) = machine()
        _ = machine.prepared(
            file, generation, .chunks(ChunkLayout(places)!, isReceivedByCore: isReceivedByCore), now: .zero)
        // Who receives its copy itself has only what readers want.
        _ = machine.wait(2, file, for: .bytes(0..<4 * 65_536 - 1000), patience: .seconds(9), now: .zero)
        for chunk in places.indices {
            _ = machine.arrived(
                file, generation, chunk: chunk, contentOffset: chunk == 0 ? 20 : nil, now: .zero)
            machine.landed(file, generation, chunk)
            _ = machine.schedule(now: .zero)
        }
        let actions = machine.passed(file, generation, upTo: places.count, now: .zero)
        #expect(actions == [.complete(file, generation)])
        return (machine, generation)
    }

    @Test func whatIsBeingHandedOverIsNotEvictedThoughNobodyHasItOpen() {
        var (machine, generation) = Self.handingOver(isReceivedByCore: false)
        machine.leave(1, Self.file)
        _ = machine.close(Self.file, now: .zero)
        #expect(machine.dehydrate(Self.file) == nil)
        #expect(machine.evictOldest() == nil)
        #expect(machine.clear() == [])
        let kept = World(seed: 1).item(Self.file).file!
        _ = machine.completed(Self.file, generation, kept, cached: 0)
        #expect(machine.dehydrate(Self.file) != nil)
    }

    @Test func whoWaitsForTheWholeGoesOnWhenItIsCheckedThoughTheCoreMakesItsCopyItself() {
        var (machine, generation) = Self.handingOver(isReceivedByCore: true)
        #expect(machine.checked(Self.file, generation).contains(.wake(1, nil)))
    }

    @Test func aCoreThatHasTheFileBeforeItSaysThatItReceivesItIsNotWaitedFor() {
        var (machine, generation, item) = Self.machine()
        item.file?.status = .rcvComplete
        #expect(machine.update(item, now: .zero) == [])
        let actions = machine.prepared(Self.file, generation, .awaitingCore, now: .zero)
        #expect(actions.contains { if case .prepare = $0 { true } else { false } })
    }

    @Test func aChunkThatTheDiskDidNotKeepComesOnceMoreBeforeTheWholeIsHandedOver() {
        var (machine, generation) = Self.handingOver(isReceivedByCore: false)
        // What a reader meets meanwhile begins nothing a second time.
        _ = machine.damaged(Self.file, generation, chunks: [1], endsCompletion: false, now: .zero)
        #expect(machine.passed(Self.file, generation, upTo: 4, now: .zero) == [])
        #expect(machine.flights.map(\.chunk) == [1])
        let again = machine.damaged(Self.file, generation, chunks: [2], endsCompletion: true, now: .zero)
        #expect(again.contains(.fetch(Self.file, generation, chunk: 2)))
        #expect(machine.passed(Self.file, generation, upTo: 4, now: .zero) == [])
        for chunk in [1, 2] {
            let arrived = machine.arrived(Self.file, generation, chunk: chunk, contentOffset: nil, now: .zero)
            #expect(!arrived.contains(.complete(Self.file, generation)))
            machine.landed(Self.file, generation, chunk)
            let mended = machine.mended(Self.file, generation, chunk: chunk, now: .zero)
            #expect(mended == (chunk == 2 ? [.complete(Self.file, generation)] : []))
        }
        #expect(machine.mended(Self.file, generation, chunk: 1, now: .zero) == [])
    }

    @Test func whoWaitsForTheCheckOfAStoredFileIsLateOnlyWhenItStopsGettingOn() {
        var (machine, generation, _) = Self.machine()
        for second in stride(from: 5, through: 500, by: 5) {
            #expect(machine.verifying(Self.file, generation, now: .seconds(second)) == [])
            #expect(!machine.tick(now: .seconds(second + 8)).contains(.wake(1, .timedOut)))
        }
        #expect(machine.tick(now: .seconds(509)).contains(.wake(1, .timedOut)))
    }

    @Test func aFileWhoseStoredCopyIsDamagedIsFetchedToItsEnd() {
        var (machine, generation, item) = Self.machine()
        #expect(machine.offeredAgain(Self.file, generation + 1, item) == [])
        let actions = machine.offeredAgain(Self.file, generation, item)
        #expect(actions.contains(.invalidated(Self.file)) && actions.contains(.noteUnfinished))
        #expect(machine.unfinished.contains(Self.file))
        #expect(actions.contains { if case .prepare = $0 { true } else { false } })
    }
}
