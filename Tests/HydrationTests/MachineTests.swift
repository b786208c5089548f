import ChatCore
import Testing

@testable import Hydration
@testable import XFTP

/// Random histories: bounds hold after every step, and in the end every reader was answered once. Also single cases
/// with exact numbers.
@Suite struct MachineTests {
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func randomEventsKeepBoundsAndAnswerOnce(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<600 { world.step() }
        world.settle()
    }

    @Test func filesOfOneRelayTakeTurns() {
        var settings = HydrationSettings()
        settings.fetching.chunksPerRelay = 1
        var simulation = Simulation(settings: settings)
        let layout = ChunkLayout(Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 8))!
        for id in [FileID(1), FileID(2)] {
            simulation.open(Simulation.item(id, size: 8 * 65_536 - 1000, .rcvInvitation(described: true)))
            simulation.wait(UInt64(id.rawValue), id, for: .bytes(0..<5 * 65_536))
        }
        while !simulation.preparations.isEmpty { _ = simulation.prepareChunks(layout) }
        var fetched: [FileID] = []
        while !simulation.begun.isEmpty {
            let fetch = simulation.begun.removeFirst()
            fetched.append(simulation.owners[fetch.file]!)
            simulation.arriveAndEnd(fetch)
        }
        #expect(fetched.count == 12)
        for file in [FileID(1), FileID(2)] {
            #expect((3...5).contains(fetched.prefix(8).filter { $0 == file }.count))
        }
    }

    @Test func prefetchOfSmallChunksFollowsTheCheck() {
        let file = FileID(1)
        var simulation = Simulation()
        let layout = ChunkLayout(Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 40))!
        simulation.open(Simulation.item(file, size: 40 * 65_536 - 1000, .rcvInvitation(described: true)))
        simulation.wait(1, file, for: .whole)
        let download = simulation.prepareChunks(layout)
        var fetched: [Int] = []
        func arrive() {
            while !simulation.begun.isEmpty {
                let fetch = simulation.begun.removeFirst()
                fetched.append(fetch.chunk)
                simulation.arrive(fetch)
            }
        }
        arrive()
        #expect(fetched == Array(0..<5))
        simulation.end(Simulation.Fetch(file: download, chunk: 0))
        simulation.step(file) { $0.stored(download, 0, now: $1) }
        arrive()
        #expect(fetched == Array(0..<6))
        // A reader of another chunk gets it at once.
        simulation.wait(2, file, for: .bytes(20 * 65_536..<20 * 65_536 + 10))
        arrive()
        #expect(fetched == Array(0..<6) + [20])
    }
}
