import ChatCore
import Testing

@testable import Hydration
@testable import XFTP

/// Readers' deadlines, by the machine's own clock.
@Suite struct DeadlineTests {
    /// A file of eight chunks whose fifth lies on another relay. The first is local, and waiting for bytes in the
    /// middle of another starts its fetch.
    private struct TwoRelays {
        static let file = FileID(1)
        var simulation: Simulation
        let download: Token

        init(settings: HydrationSettings = HydrationSettings()) {
            simulation = Simulation(settings: settings)
            let places = (0..<8).map { ChunkPlace(size: 65_536, relay: $0 == 4 ? "silent" : "good") }
            simulation.open(
                Simulation.item(Self.file, size: 8 * 65_536 - 1000, .rcvInvitation(described: true)))
            simulation.wait(1, Self.file, for: .bytes(0..<10), timeout: .seconds(30))
            download = simulation.prepareChunks(ChunkLayout(places)!)
            simulation.arriveAndEnd(Simulation.Fetch(file: download, chunk: 0))
            simulation.answers = []
        }

        var begun: [Int] { simulation.begun.map(\.chunk) }
        var answers: [Simulation.Answer] { simulation.answers }

        mutating func wait(_ reader: UInt64, forChunk chunk: UInt64) {
            let start = chunk * 65_536 + 1000
            simulation.wait(reader, Self.file, for: .bytes(start..<start + 10), timeout: .seconds(30))
        }

        mutating func progress(_ chunk: Int, at now: Duration) {
            simulation.now = now
            simulation.progress(Simulation.Fetch(file: download, chunk: chunk))
            simulation.tick()
        }
    }

    @Test func silentRelaysReaderTimesOutDespiteOtherChunks() {
        var world = TwoRelays()
        world.wait(2, forChunk: 4)
        world.wait(3, forChunk: 1)
        #expect(world.begun == [0, 4, 1])
        for second in stride(from: 10, through: 40, by: 10) { world.progress(1, at: .seconds(second)) }
        #expect(world.answers == [.init(reader: 2, problem: .timedOut)])
    }

    @Test func slowChunkExtendsDeadlineUpToALimit() {
        var world = TwoRelays()
        world.wait(2, forChunk: 4)
        for second in stride(from: 20, to: 600, by: 20) { world.progress(4, at: .seconds(second)) }
        #expect(world.answers.isEmpty)
        world.progress(4, at: .seconds(600))
        #expect(world.answers == [.init(reader: 2, problem: .timedOut)])
    }

    @Test func unstartedChunkWaitsForEarlierOnes() {
        var settings = HydrationSettings()
        settings.fetching.chunksPerFile = 1
        var world = TwoRelays(settings: settings)
        world.wait(2, forChunk: 1)
        world.wait(3, forChunk: 4)
        #expect(world.begun == [0, 1])
        for second in stride(from: 20, through: 100, by: 20) { world.progress(1, at: .seconds(second)) }
        #expect(world.answers.isEmpty)
    }

    /// A file that only the core can fetch, and a reader with a timeout of ten seconds.
    private struct OwnDownload {
        static let file = FileID(1)
        var simulation = Simulation()

        /// - Parameter transport: The way on which the core receives it.
        init(_ transport: ChatFile.Transport = .xftp) {
            var item = Simulation.item(Self.file, size: 1000, .rcvInvitation(described: true))
            item.file?.transport = transport
            simulation.open(item)
            simulation.wait(9, Self.file, for: .bytes(0..<10))
            let (file, preparation) = simulation.preparations.removeLast()
            simulation.prepared(file, preparation, .awaitingCore)
        }

        var answers: [Simulation.Answer] { simulation.answers }

        mutating func received(_ count: UInt64, at second: Int) {
            simulation.now = .seconds(second)
            let item = Simulation.item(
                Self.file, size: 1000, .rcvTransfer(received: count, total: 10_000))
            simulation.step(Self.file) { $0.update(item, now: $1) }
            simulation.tick()
        }

        mutating func tick(at second: Int) {
            simulation.now = .seconds(second)
            simulation.tick()
        }
    }

    @Test func coreProgressExtendsDeadline() {
        var download = OwnDownload()
        for step in 1...1000 { download.received(UInt64(step), at: 9 * step) }
        #expect(download.answers.isEmpty)
        download.tick(at: 9011)
        #expect(download.answers == [.init(reader: 9, problem: .timedOut)])
    }

    @Test func coreEventsWithoutBytesDoNotExtendDeadline() {
        var download = OwnDownload()
        for second in stride(from: 9, to: 200, by: 9) { download.received(7, at: second) }
        #expect(download.answers.isEmpty)
        download.received(7, at: 207)
        download.tick(at: 209)
        #expect(download.answers == [.init(reader: 9, problem: .timedOut)])
    }

    @Test func readerOfUnfinishedUploadIsToldSo() {
        var download = OwnDownload(.smp)
        download.tick(at: 11)
        #expect(download.answers == [.init(reader: 9, problem: .notSentInTime)])
        #expect(FileProblem.notSentInTime.kind == .timedOut)
    }
}
