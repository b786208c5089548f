import ChatCore
import Testing

@testable import Hydration

/// Against chance: after every step the bounds hold, and in the end everyone has been answered exactly once.
/// And single cases with all their numbers.
@Suite struct MachineTests {
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func whateverHappensBoundsHoldAndEveryoneIsAnsweredOnce(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<600 { world.step() }
        world.settle()
    }

    @Test func twoFilesOfOneRelayTakeTurns() {
        var settings = HydrationSettings()
        settings.chunksPerRelay = 1
        var machine = HydrationMachine(settings: settings)
        let layout = ChunkLayout(Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 8))!
        var fetched: [FileID] = []
        var actions: [HydrationMachine.Action] = []
        for id in [FileID(1), FileID(2)] {
            let item = World(seed: 1).item(id)
            machine.open(item, item.file!, now: .zero)
            actions += machine.wait(
                UInt64(id.rawValue), id, for: .bytes(0..<5 * 65_536), patience: .seconds(10), now: .zero)
        }
        while !actions.isEmpty {
            switch actions.removeFirst() {
            case .prepare(let id, let generation):
                actions += machine.prepared(
                    id, generation, .chunks(layout, isReceivedByCore: false), now: .zero)
            case .fetch(let id, let generation, let chunk):
                fetched.append(id)
                actions += machine.arrived(
                    id, generation, chunk: chunk, contentOffset: chunk == 0 ? 20 : nil, now: .zero)
                machine.landed(id, generation, chunk)
                actions += machine.schedule(now: .zero)
            default: break
            }
        }
        #expect(fetched.count == 12)
        for file in [FileID(1), FileID(2)] {
            #expect((3...5).contains(fetched.prefix(8).filter { $0 == file }.count))
        }
    }

    @Test func smallChunksAreNotFetchedFurtherAheadThanTheCheckCanTakeThem() {
        var machine = HydrationMachine(settings: HydrationSettings())
        let layout = ChunkLayout(Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 40))!
        let item = World(seed: 1).item(FileID(1))
        machine.open(item, item.file!, now: .zero)
        var actions = machine.wait(1, FileID(1), for: .whole, patience: .seconds(10), now: .zero)
        var fetched: [Int] = []
        var generation: UInt64 = 0
        func carryOut() {
            while !actions.isEmpty {
                switch actions.removeFirst() {
                case .prepare(let id, let begun):
                    generation = begun
                    actions += machine.prepared(
                        id, begun, .chunks(layout, isReceivedByCore: false), now: .zero)
                case .fetch(let id, let generation, let chunk):
                    fetched.append(chunk)
                    actions += machine.arrived(
                        id, generation, chunk: chunk, contentOffset: chunk == 0 ? 20 : nil, now: .zero)
                default: break
                }
            }
        }
        carryOut()
        #expect(fetched == Array(0..<5))
        machine.landed(FileID(1), generation, 0)
        actions = machine.passed(FileID(1), generation, upTo: 1, now: .zero) + machine.schedule(now: .zero)
        carryOut()
        #expect(fetched == Array(0..<6))
        // Who needs another one has it at once.
        actions = machine.wait(
            2, FileID(1), for: .bytes(20 * 65_536..<20 * 65_536 + 10), patience: .seconds(10), now: .zero)
        carryOut()
        #expect(fetched == Array(0..<6) + [20])
    }
}
