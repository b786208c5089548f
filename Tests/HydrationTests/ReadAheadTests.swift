import ChatCore
import Testing

@testable import Hydration
@testable import XFTP

@Suite struct ReadAheadTests {
    private func windows(_ reads: [Range<UInt64>]) -> [Int] {
        var readAhead = ReadAhead()
        for read in reads { readAhead.note(read, chunk: chunk(at:)) }
        return readAhead.windows(limit: 8).map(\.chunks)
    }

    private func chunk(at position: UInt64) -> Int { Int(position >> 22) }

    private func run(from start: UInt64, pieces: Int) -> [Range<UInt64>] {
        (0..<UInt64(pieces)).map { start + $0 * 131_072..<start + ($0 + 1) * 131_072 }
    }

    @Test func sequentialReadsGrowTheWindow() {
        #expect(windows(run(from: 0, pieces: 3)) == [0])
        #expect(windows(run(from: 0, pieces: 4)) == [1])
        #expect(windows(run(from: 0, pieces: 16)) == [4])
        #expect(windows(run(from: 0, pieces: 64)) == [8])
        #expect(windows(run(from: 50 << 20, pieces: 65)) == [8])
    }

    @Test func sequentialReadersAwaitLaterChunks() {
        var readAhead = ReadAhead()
        readAhead.note(50 << 20..<51 << 20, chunk: chunk(at:))
        #expect(!readAhead.hasReader(before: 13, chunk: chunk(at:)), "one read is no sequence")
        readAhead.note(51 << 20..<53 << 20, chunk: chunk(at:))
        #expect(!readAhead.hasReader(before: 12, chunk: chunk(at:)))
        #expect(readAhead.hasReader(before: 13, chunk: chunk(at:)))
    }

    @Test func reorderedReadsAreSequential() {
        var reads = run(from: 0, pieces: 72)
        for index in stride(from: 0, to: 70, by: 3) { reads.swapAt(index, index + 2) }
        #expect(windows(reads) == [8])
    }

    @Test func randomReadsOpenNoWindow() {
        var dice = Dice(seed: 5)
        let reads = (0..<200).map { _ in
            let start = UInt64.random(in: 0..<1 << 30, using: &dice)
            return start..<start + 65_536
        }
        #expect(windows(reads).allSatisfy { $0 == 0 })
    }

    @Test func repeatedReadsOpenNoWindow() {
        #expect(windows(Array(repeating: 0..<4096, count: 1000)) == [0])
    }

    @Test func twoReadersHaveTwoWindows() {
        let pairs = zip(run(from: 0, pieces: 66), run(from: 200 << 20, pieces: 66)).flatMap { [$0, $1] }
        #expect(windows(pairs) == [8, 8])
    }

    @Test func unmovedReaderKeepsItsChunks() {
        var dice = Dice(seed: 11)
        var readAhead = ReadAhead()
        var starts: [UInt64] = [0, 300 << 20, 700 << 20, 1 << 30, 2 << 30]
        var same = 0
        for _ in 0..<4000 {
            let reader = Int.random(in: 0..<starts.count, using: &dice)
            // Mostly sequential, sometimes slightly reordered or elsewhere.
            switch Int.random(in: 0..<100, using: &dice) {
            case 0: starts[reader] = UInt64.random(in: 0..<3 << 30, using: &dice)
            case 1..<10: starts[reader] = starts[reader] < 131_072 ? 0 : starts[reader] - 131_072
            default: break
            }
            let times = Int.random(in: 1...30, using: &dice)
            for _ in 0..<times {
                let before = readAhead.windows(limit: 12).map { [chunk(at: $0.position), $0.chunks] }
                let movesOn = readAhead.note(starts[reader]..<starts[reader] + 131_072, chunk: chunk(at:))
                let after = readAhead.windows(limit: 12).map { [chunk(at: $0.position), $0.chunks] }
                if !movesOn {
                    same += 1
                    guard before == after else {
                        Issue.record("from \(before) to \(after)")
                        return
                    }
                }
                starts[reader] += 131_072
            }
        }
        #expect(same > 20_000, "most reads change nothing")
    }

    /// A reader in the middle of a long file, with four chunks in prefetch and one more wanted.
    private struct Halfway {
        static let file = FileID(1)
        var simulation: Simulation
        let download: Token

        init() {
            var settings = HydrationSettings()
            settings.finishesWhatWasRead = false
            simulation = Simulation(settings: settings)
            simulation.open(
                Simulation.item(Self.file, size: 64 * 65_536 - 1000, .rcvInvitation(described: true)))
            simulation.wait(100, Self.file, for: .bytes(0..<10))
            download = simulation.prepareChunks(
                ChunkLayout(Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 64))!)
            for chunk in 0..<39 as Range<UInt64> {
                let range = chunk * 65_536..<chunk * 65_536 + 60_000
                if case .pending = simulation.locate(Self.file, range) {
                    simulation.wait(chunk, Self.file, for: .bytes(range))
                }
                while chunk <= 33, !simulation.begun.isEmpty {
                    simulation.arriveAndEnd(simulation.begun.removeFirst())
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func closedReaderStartsNoPrefetch(closes: Bool) {
        var world = Halfway()
        let underWay = world.simulation.begun
        #expect(underWay.count == 4)
        world.simulation.begun = []
        if closes { world.simulation.step(Halfway.file) { machine, now in machine.close(now: now) } }
        for fetch in underWay { world.simulation.arriveAndEnd(fetch) }
        #expect(world.simulation.begun.isEmpty == closes)
    }
}
