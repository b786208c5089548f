import ChatCore
import Testing

@testable import Hydration

/// For how long a reader waits, by the machine's own clock.
@Suite struct DeadlineTests {
    /// A file of eight chunks whose fifth lies on a relay of its own. Its first one is here, and whoever waits
    /// for bytes in the middle of another has made its fetch begin.
    private struct TwoRelays {
        static let file = FileID(1)
        var machine: HydrationMachine
        var generation: UInt64 = 0
        var begun: [Int] = []
        var woken: [HydrationMachine.Action] = []

        init(settings: HydrationSettings = HydrationSettings()) {
            machine = HydrationMachine(settings: settings)
            let places = (0..<8).map { ChunkPlace(size: 65_536, relay: $0 == 4 ? "silent" : "good") }
            var item = World(seed: 1).item(Self.file)
            item.file?.size = 8 * 65_536 - 1000
            machine.open(item, item.file!, now: .zero)
            perform(
                machine.wait(1, Self.file, for: .bytes(0..<10), patience: .seconds(30), now: .zero), places)
            perform(machine.arrived(Self.file, generation, chunk: 0, contentOffset: 20, now: .zero))
            machine.landed(Self.file, generation, 0)
            woken = []
        }

        mutating func wait(_ waiter: UInt64, forChunk chunk: UInt64, at now: Duration) {
            let start = chunk * 65_536 + 1000
            perform(
                machine.wait(
                    waiter, Self.file, for: .bytes(start..<start + 10), patience: .seconds(30), now: now))
        }

        mutating func progress(_ chunk: Int, at now: Duration) {
            perform(machine.progressed(Self.file, generation, chunk: chunk, now: now))
            perform(machine.tick(now: now))
        }

        private mutating func perform(
            _ actions: [HydrationMachine.Action], _ places: [ChunkPlace] = []
        ) {
            for action in actions {
                switch action {
                case .prepare(let file, let generation):
                    self.generation = generation
                    perform(
                        machine.prepared(
                            file, generation, .chunks(ChunkLayout(places)!, isReceivedByCore: false),
                            now: .zero))
                case .fetch(_, _, let chunk): begun.append(chunk)
                case .wake: woken.append(action)
                default: break
                }
            }
        }
    }

    @Test func aReaderOfASilentRelayIsAnsweredInTimeWhileOtherChunksOfTheFileComeSlowly() {
        var world = TwoRelays()
        world.wait(2, forChunk: 4, at: .zero)
        world.wait(3, forChunk: 1, at: .zero)
        #expect(world.begun == [0, 4, 1])
        for second in stride(from: 10, through: 40, by: 10) { world.progress(1, at: .seconds(second)) }
        #expect(world.woken == [.wake(2, .timedOut)])
    }

    @Test func aReaderIsNotLateWhileItsChunkComesHoweverSlowlyButNotForEver() {
        var world = TwoRelays()
        world.wait(2, forChunk: 4, at: .zero)
        for second in stride(from: 20, to: 600, by: 20) { world.progress(4, at: .seconds(second)) }
        #expect(world.woken == [])
        world.progress(4, at: .seconds(600))
        #expect(world.woken == [.wake(2, .timedOut)])
    }

    @Test func aReaderWhoseChunkHasNotBegunWaitsForThoseThatAreUnderWayBeforeIt() {
        var settings = HydrationSettings()
        settings.chunksPerFile = 1
        var world = TwoRelays(settings: settings)
        world.wait(2, forChunk: 1, at: .zero)
        world.wait(3, forChunk: 4, at: .zero)
        #expect(world.begun == [0, 1])
        for second in stride(from: 20, through: 100, by: 20) { world.progress(1, at: .seconds(second)) }
        #expect(world.woken == [])
    }

    /// A file that only the core can fetch, and a reader of it with a patience of ten seconds.
    private struct OwnDownload {
        var machine = HydrationMachine(settings: HydrationSettings())
        var item = World(seed: 1).item(FileID(1))
        var woken: [HydrationMachine.Action] = []

        init() {
            machine.open(item, item.file!, now: .zero)
            for action in machine.wait(9, FileID(1), for: .bytes(0..<10), patience: .seconds(10), now: .zero)
            {
                guard case .prepare(let file, let generation) = action else { continue }
                _ = machine.prepared(file, generation, .awaitingCore, now: .zero)
            }
        }

        mutating func received(_ count: UInt64, at second: Int) {
            item.file?.status = .rcvTransfer(received: count, total: 10_000)
            _ = machine.update(item, now: .seconds(second))
            tick(at: second)
        }

        mutating func tick(at second: Int) {
            woken += machine.tick(now: .seconds(second)).filter { if case .wake = $0 { true } else { false } }
        }
    }

    @Test func aReaderIsNotLateWhileBytesComeToTheCoreHoweverLongTheFileTakes() {
        var download = OwnDownload()
        for step in 1...1000 { download.received(UInt64(step), at: 9 * step) }
        #expect(download.woken == [])
        download.tick(at: 9011)
        #expect(download.woken == [.wake(9, .timedOut)])
    }

    @Test func newsOfTheCoreWithoutBytesDoesNotHoldAReaderForEver() {
        var download = OwnDownload()
        for second in stride(from: 9, to: 200, by: 9) { download.received(7, at: second) }
        #expect(download.woken == [])
        download.received(7, at: 207)
        download.tick(at: 209)
        #expect(download.woken == [.wake(9, .timedOut)])
    }
}
