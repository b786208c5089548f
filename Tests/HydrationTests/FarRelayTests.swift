import ChatCore
import Testing

@testable import Hydration
@testable import XFTP

/// A request to a distant relay takes a round trip, during which other requests must fill the line.
@Suite struct FarRelayTests {
    @Test(arguments: [(Duration.milliseconds(80), 7), (.milliseconds(5), 2)])
    func distantRelayGetsMoreRequests(time: Duration, count: Int) {
        var world = OneRelay()
        #expect(world.begun == [0])
        world.progress(0, at: time)
        world.arrive(0, at: time)
        #expect(world.begun == Array(0...count))
    }

    @Test func narrowLineNeedsFewRequests() {
        var world = OneRelay()
        world.progress(0, at: .milliseconds(80))
        world.arrive(0, at: .milliseconds(900))
        #expect(world.begun == Array(0...3))
        // The line became wider.
        world.progress(1, at: .milliseconds(980))
        world.arrive(1, at: .milliseconds(1500))
        #expect(world.begun == Array(0...8))
    }

    /// A file of twenty chunks on one relay, with a reader of the whole.
    private struct OneRelay {
        static let file = FileID(1)
        var simulation = Simulation()
        let download: Token

        init() {
            simulation.open(
                Simulation.item(Self.file, size: 20 * (4 << 20) - 1000, .rcvInvitation(described: true)))
            simulation.wait(1, Self.file, for: .whole, timeout: .seconds(30))
            download = simulation.prepareChunks(
                ChunkLayout(Array(repeating: ChunkPlace(size: 4 << 20, relay: "relay"), count: 20))!)
        }

        var begun: [Int] { simulation.begun.map(\.chunk) }

        mutating func progress(_ chunk: Int, at now: Duration) {
            simulation.now = now
            simulation.progress(Simulation.Fetch(file: download, chunk: chunk))
        }

        /// The chunk arrived, was stored, and its memory is free.
        mutating func arrive(_ chunk: Int, at now: Duration) {
            simulation.now = now
            simulation.arriveAndEnd(Simulation.Fetch(file: download, chunk: chunk))
        }
    }
}
