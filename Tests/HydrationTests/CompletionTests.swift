import ChatCore
import Testing

@testable import Hydration
@testable import XFTP

/// The core's work on a file, by the machine's own clock.
@Suite struct CompletionTests {
    private static let file = FileID(1)
    private static let layout = ChunkLayout(
        Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 4))!

    private static func item(_ status: FileStatus = .rcvInvitation(described: true)) -> ChatItem {
        Simulation.item(file, size: 4 * 65_536 - 1000, status)
    }

    /// A file with a reader that waits for the whole, during its preparation.
    private static func preparing() -> Simulation {
        var simulation = Simulation()
        simulation.open(item())
        simulation.wait(1, file, for: .whole, timeout: .seconds(9))
        return simulation
    }

    /// The same with all chunks stored, during the hand-over to the core.
    private static func completing(isReceivedByCore: Bool) -> (Simulation, Token) {
        var simulation = preparing()
        let download = simulation.prepareChunks(layout, isReceivedByCore: isReceivedByCore)
        // A core with its own copy needs only the readers' chunks.
        simulation.wait(2, file, for: .bytes(0..<4 * 65_536 - 1000), timeout: .seconds(9))
        while !simulation.begun.isEmpty { simulation.arriveAndEnd(simulation.begun.removeFirst()) }
        simulation.answers = []
        for chunk in 0..<4 { simulation.step(file) { $0.stored(download, chunk, now: $1) } }
        #expect(simulation.completions == [download])
        simulation.completions = []
        return (simulation, download)
    }

    @Test func fileBeingHandedOverIsNotEvicted() {
        var (simulation, download) = Self.completing(isReceivedByCore: false)
        simulation.step(Self.file) { machine, now in
            machine.leave(1)
            return machine.close(now: now)
        }
        #expect(simulation.files[Self.file]?.isEvictable == false)
        let kept = FileSourceLocation(path: "/kept", arguments: nil)
        simulation.step(Self.file) { machine, _ in machine.completed(download, Token(), at: kept, cached: 0) }
        #expect(simulation.files[Self.file]?.isEvictable == true)
        #expect(simulation.files[Self.file]?.file.status == .rcvComplete)
        #expect(simulation.files[Self.file]?.item.file?.source == kept)
    }

    @Test func waitForWholeEndsWithItsCheck() {
        var (simulation, download) = Self.completing(isReceivedByCore: true)
        simulation.step(Self.file) { machine, _ in machine.verified(download) }
        #expect(simulation.answers == [.init(reader: 1, problem: nil)])
    }

    @Test func earlyCopyOfCoreIsUsed() {
        var simulation = Self.preparing()
        let (file, preparation) = simulation.preparations.removeLast()
        simulation.step(file) { $0.update(Self.item(.rcvComplete), now: $1) }
        #expect(simulation.preparations.isEmpty)
        simulation.prepared(file, preparation, .awaitingCore)
        #expect(simulation.preparations.count == 1)
    }

    @Test func unkeptChunkIsFetchedAgainBeforeHandover() {
        var (simulation, download) = Self.completing(isReceivedByCore: false)
        // Damage found by a reader meanwhile does not start a second completion.
        simulation.step(Self.file) { machine, _ in machine.damaged(download, [1], endsCompletion: false) }
        #expect(simulation.begun.map(\.chunk) == [1])
        simulation.step(Self.file) { machine, _ in machine.damaged(download, [2], endsCompletion: true) }
        #expect(simulation.begun.map(\.chunk) == [1, 2])
        for fetch in simulation.begun {
            simulation.arriveAndEnd(fetch)
            #expect(simulation.completions.isEmpty)
            simulation.step(Self.file) { $0.stored(download, fetch.chunk, now: $1) }
        }
        #expect(simulation.completions == [download])
        simulation.step(Self.file) { $0.stored(download, 1, now: $1) }
        #expect(simulation.completions == [download])
    }

    @Test func unstoredFileIsStoredAtNextOpen() {
        var (simulation, download) = Self.completing(isReceivedByCore: false)
        let full = FileProblem(.noSpace, "full")
        simulation.step(Self.file) { $0.completionFailed(download, full, now: $1) }
        #expect(simulation.answers == [.init(reader: 1, problem: full)])
        #expect(simulation.files[Self.file]?.condition(now: .zero).problem == full)
        simulation.open(Self.item())
        #expect(simulation.completions == [download])
    }

    @Test func chunksInMemoryAreWrittenIfFileIsWanted() {
        var simulation = Simulation()
        simulation.open(Self.item())
        simulation.wait(1, Self.file, for: .bytes(0..<10))
        let download = simulation.prepareChunks(Self.layout)
        while !simulation.begun.isEmpty { simulation.arriveAndEnd(simulation.begun.removeFirst()) }
        #expect(simulation.files[Self.file]?.wantsStorage(download) == false)
        #expect(simulation.resumed.isEmpty)
        simulation.wait(2, Self.file, for: .whole)
        #expect(simulation.files[Self.file]?.wantsStorage(download) == true)
        #expect(simulation.resumed == [download])
    }

    @Test func stalledCheckMakesWaitersLate() {
        var simulation = Self.preparing()
        let (file, preparation) = simulation.preparations.removeLast()
        for second in stride(from: 5, through: 500, by: 5) {
            simulation.now = .seconds(second)
            simulation.step(file) { machine, now in
                machine.verifying(preparation, now: now)
                return []
            }
            simulation.now = .seconds(second + 8)
            simulation.tick()
        }
        #expect(simulation.answers.isEmpty)
        simulation.now = .seconds(509)
        simulation.tick()
        #expect(simulation.answers == [.init(reader: 1, problem: .timedOut)])
    }

    @Test func damagedStoredCopyIsFetchedWhole() {
        var simulation = Self.preparing()
        let (file, preparation) = simulation.preparations.removeLast()
        let stale = simulation.step(file) { machine, _ in machine.offeredAgain(Preparation(), Self.item()) }
        #expect(stale.isEmpty)
        let effects = simulation.step(file) { machine, _ in machine.offeredAgain(preparation, Self.item()) }
        #expect(effects.contains { if case .contentInvalid = $0 { true } else { false } })
        #expect(effects.contains { if case .retainUnfinished(true) = $0 { true } else { false } })
        #expect(simulation.files[file]?.demand.retention == .unfinished)
        #expect(simulation.preparations.count == 1)
    }
}
