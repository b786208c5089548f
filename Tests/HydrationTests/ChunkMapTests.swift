import ChatCore
import Testing
import XFTP

@testable import Hydration

/// The chunks of one file, against a simple model in random histories.
@Suite struct ChunkMapTests {
    private static let settings = HydrationSettings()
    private static let chunk: UInt64 = 65_536

    private static func map(_ count: Int, isReceivedByCore: Bool = false) -> ChunkMap {
        let layout = ChunkLayout(Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: count))!
        return ChunkMap(
            layout: layout, contentSize: UInt64(count) * chunk - 1000, isReceivedByCore: isReceivedByCore)
    }

    private static func fetch(_ chunks: Range<Int>, of map: inout ChunkMap) {
        for chunk in chunks {
            #expect(map.started(chunk) == true)
            map.arrived(chunk, contentOffset: chunk == 0 ? 20 : nil)
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func missingListsMatchTheModel(seed: UInt64) {
        var dice = Dice(seed: seed)
        let count = Int.random(in: 1...20, using: &dice)
        var map = Self.map(count)
        var states = Array(repeating: ChunkMap.State.missing, count: count)
        var retryAt = Array(repeating: Duration.zero, count: count)
        var failures = Array(repeating: 0, count: count)
        var now = Duration.zero
        for _ in 0..<300 {
            now += .milliseconds(Int.random(in: 0...900, using: &dice))
            let chunk = Int.random(in: 0..<count, using: &dice)
            switch Int.random(in: 0..<6, using: &dice) {
            case 0, 1:
                let isStarted = map.started(chunk)
                #expect(isStarted == (states[chunk] == .missing))
                if isStarted { states[chunk] = .inFlight }
            case 2 where states[chunk] == .inFlight:
                map.arrived(chunk, contentOffset: chunk == 0 ? 20 : nil)
                (states[chunk], failures[chunk], retryAt[chunk]) = (.available, 0, .zero)
            case 3 where states[chunk] == .inFlight:
                map.failed(chunk, .timedOut, now: now, settings: Self.settings)
                states[chunk] = .missing
                failures[chunk] += 1
                retryAt[chunk] = now + Self.settings.backoff(afterFailures: failures[chunk])
            case 4:
                map.cancelled(chunk)
                if states[chunk] == .inFlight { states[chunk] = .missing }
            case 5:
                map.lost(chunk)
                if states[chunk] == .available { states[chunk] = .missing }
            default: break
            }
            #expect(map.states == states)
            let available = states.count { $0 == .available }
            #expect(map.availableBytes == UInt64(available) * Self.chunk)
            #expect(map.isComplete == (available == count))
            let missing = states.indices.filter { states[$0] == .missing }
            let fetchable = missing.filter { retryAt[$0] <= now }
            if map.contentOffset != nil {
                #expect(map.remaining(limit: 100, now: now) == fetchable)
                #expect(map.remaining(limit: 2, now: now) == Array(fetchable.prefix(2)))
                let whole = 0..<map.contentSize
                #expect(map.demanded(for: whole, limit: 100) == missing)
                #expect((map.position(of: whole) != nil) == missing.isEmpty || states.contains(.inFlight))
            }
            #expect(map.nextRetry == missing.filter { failures[$0] > 0 }.map { retryAt[$0] }.min())
        }
    }

    @Test func unknownHeaderRequiresFirstChunk() {
        var map = Self.map(4)
        #expect(map.needed(for: 0..<10) == [0])
        #expect(map.needed(for: 2 * Self.chunk..<2 * Self.chunk + 10) == [0, 2])
        #expect(map.needed(for: 2 * Self.chunk - 100..<2 * Self.chunk - 90) == [0, 1, 2])
        #expect(map.needed(for: 5..<5) == [0])
        Self.fetch(0..<1, of: &map)
        #expect(map.needed(for: 2 * Self.chunk - 100..<2 * Self.chunk - 90) == [1])
        #expect(map.needed(for: 5..<5) == [])
    }

    @Test func prefetchFollowsReadersPaddingLast() {
        var map = Self.map(8)
        let windows = [ReadAhead.Window(position: 3 * Self.chunk, chunks: 2), .init(position: 0, chunks: 1)]
        #expect(map.ahead(of: windows, limit: 9, now: .zero).isEmpty, "where they are is not known yet")
        Self.fetch(0..<1, of: &map)
        #expect(map.ahead(of: windows, limit: 9, now: .zero) == [3, 4, 5, 1])
        #expect(map.ahead(of: windows, limit: 2, now: .zero) == [3, 4])
        #expect(map.ahead(of: [], limit: 9, now: .zero).isEmpty)
        // The last chunk contains the end of the content.
        Self.fetch(1..<8, of: &map)
        #expect(map.ahead(of: windows, limit: 9, now: .zero).isEmpty)
    }

    @Test func wholeIsHandedOverOnceWhenComplete() {
        var map = Self.map(3)
        Self.fetch(0..<3, of: &map)
        #expect(map.stored(2) == false)
        #expect(map.stored(0) == false && map.hasUnstored)
        map.lost(2)
        #expect(map.states[2] == .missing)
        #expect(map.remaining(limit: 9, now: .zero) == [2])
        #expect(map.stored(1) == false)
        Self.fetch(2..<3, of: &map)
        #expect(map.stored(2) == true)
        #expect(map.completion == .inProgress && !map.hasUnstored)
        #expect(map.stored(2) == false, "it has begun already")
        map.completionFailed(.timedOut)
        #expect(map.stored(2) == false, "not before somebody tries again")
        #expect(map.retryCompletion() == true)
        #expect(map.retryCompletion() == false)
        map.completionInterrupted()
        #expect(map.stored(2) == true)
        map.verified()
        #expect(map.satisfies(.whole))
    }

    @Test func failedRangeKeepsItsFirstError() {
        var map = Self.map(3)
        Self.fetch(0..<1, of: &map)
        map.end(.deleted)
        map.end(.timedOut)
        #expect(map.finalProblem == .deleted)
        #expect(map.problem(for: 0..<10, now: .zero) == nil, "what is here is served")
        #expect(map.problem(for: 0..<2 * Self.chunk, now: .zero) == .deleted)
        #expect(map.started(1) == false)
        #expect(map.demanded(for: 0..<map.contentSize, limit: 9).isEmpty)
        #expect(map.remaining(limit: 9, now: .zero).isEmpty)
        #expect(map.nextRetry == nil)
    }

    @Test func lateReaderAnswersOthersBriefly() {
        var map = Self.map(3)
        Self.fetch(0..<1, of: &map)
        map.timedOut(Self.chunk..<Self.chunk + 10, now: .zero, settings: Self.settings)
        #expect(map.problem(for: Self.chunk..<Self.chunk + 10, now: .seconds(1)) == .timedOut)
        #expect(map.problem(for: Self.chunk..<Self.chunk + 10, now: .seconds(2)) == nil)
        #expect(map.started(1) == true, "it is fetched all the same")
    }
}
