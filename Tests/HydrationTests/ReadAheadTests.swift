import ChatCore
import Testing

@testable import Hydration

/// What is fetched ahead of readers.
@Suite struct ReadAheadTests {
    private func windows(_ reads: [Range<UInt64>]) -> [Int] {
        var readAhead = ReadAhead()
        for read in reads { readAhead.note(read) }
        return readAhead.windows(most: 8).map(\.chunks)
    }

    private func run(from start: UInt64, pieces: Int) -> [Range<UInt64>] {
        (0..<UInt64(pieces)).map { start + $0 * 131_072..<start + ($0 + 1) * 131_072 }
    }

    @Test func aWindowOpensAndGrowsWithReadingOn() {
        #expect(windows(run(from: 0, pieces: 3)) == [0])
        #expect(windows(run(from: 0, pieces: 4)) == [1])
        #expect(windows(run(from: 0, pieces: 16)) == [4])
        #expect(windows(run(from: 0, pieces: 64)) == [8])
        #expect(windows(run(from: 50 << 20, pieces: 65)) == [8])
    }

    @Test func piecesInDisorderAreStillReadingOn() {
        var reads = run(from: 0, pieces: 72)
        for index in stride(from: 0, to: 70, by: 3) { reads.swapAt(index, index + 2) }
        #expect(windows(reads) == [8])
    }

    @Test func jumpingAboutOpensNoWindow() {
        var dice = Dice(seed: 5)
        let reads = (0..<200).map { _ in
            let start = UInt64.random(in: 0..<1 << 30, using: &dice)
            return start..<start + 65_536
        }
        #expect(windows(reads).allSatisfy { $0 == 0 })
    }

    @Test func readingTheSamePlaceAgainOpensNoWindow() {
        #expect(windows(Array(repeating: 0..<4096, count: 1000)) == [0])
    }

    @Test func twoReadersOfOneFileHaveAWindowEach() {
        let pairs = zip(run(from: 0, pieces: 66), run(from: 200 << 20, pieces: 66)).flatMap { [$0, $1] }
        #expect(windows(pairs) == [8, 8])
    }

    /// A reader in the middle of a long file, four chunks ahead of whom are under way and one more is wanted.
    private struct Halfway {
        static let file = FileID(1)
        var machine: HydrationMachine
        var generation: UInt64 = 0
        var holds = false
        var held: [Int] = []

        init() {
            var settings = HydrationSettings()
            settings.finishesWhatWasRead = false
            machine = HydrationMachine(settings: settings)
            var item = World(seed: 1).item(Self.file)
            item.file?.size = 64 * 65_536 - 1000
            machine.open(item, item.file!, now: .zero)
            for chunk in 0..<39 as Range<UInt64> {
                holds = chunk > 33
                let range = chunk * 65_536..<chunk * 65_536 + 60_000
                let (place, actions) = machine.locate(Self.file, range, now: .zero)
                carryOut(actions)
                if place == .notYet {
                    carryOut(
                        machine.wait(chunk, Self.file, for: .bytes(range), patience: .seconds(9), now: .zero))
                }
            }
        }

        mutating func carryOut(_ actions: [HydrationMachine.Action]) {
            for action in actions {
                switch action {
                case .prepare(let file, let generation):
                    self.generation = generation
                    let places = Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 64)
                    carryOut(
                        machine.prepared(
                            file, generation, .chunks(ChunkLayout(places)!, isReceivedByCore: false),
                            now: .zero))
                case .fetch(_, _, let chunk): if holds { held.append(chunk) } else { arrive(chunk) }
                default: break
                }
            }
        }

        mutating func arrive(_ chunk: Int) {
            carryOut(
                machine.arrived(
                    Self.file, generation, chunk: chunk, contentOffset: chunk == 0 ? 20 : nil, now: .zero))
            machine.landed(Self.file, generation, chunk)
            carryOut(machine.schedule(now: .zero))
        }
    }

    @Test(arguments: [false, true])
    func nothingIsBegunAheadOfAReaderWhoHasClosed(closes: Bool) {
        var world = Halfway()
        let underWay = world.held
        #expect(underWay.count == 4)
        world.held = []
        if closes { world.carryOut(world.machine.close(Halfway.file, now: .zero)) }
        for chunk in underWay { world.arrive(chunk) }
        #expect(world.held.isEmpty == closes, "\(underWay), then \(world.held)")
    }
}
