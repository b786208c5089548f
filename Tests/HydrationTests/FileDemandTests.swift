import Testing
import XFTP

@testable import Hydration

/// Demand for a file's bytes and its effect on fetching, without the machine.
@Suite struct FileDemandTests {
    private static let chunk: UInt64 = 65_536

    /// Eight chunks; the first is local, as after a first read.
    private static func chunks(isReceivedByCore: Bool = false) -> ChunkMap {
        let layout = ChunkLayout(Array(repeating: ChunkPlace(size: UInt32(chunk), relay: "r"), count: 8))!
        var chunks = ChunkMap(
            layout: layout, contentSize: 8 * chunk - 1000, isReceivedByCore: isReceivedByCore)
        #expect(chunks.started(0) == true)
        chunks.arrived(0, contentOffset: 20)
        return chunks
    }

    private static func requests(_ demand: FileDemand, _ chunks: ChunkMap) -> FetchRequests {
        demand.fetchRequests(for: chunks, settings: HydrationSettings(), now: .zero)
    }

    @Test func unopenedFileHasNoDemand() {
        let demand = FileDemand(retention: [], now: .zero)
        #expect(demand.isUnused && !demand.isRetained)
        let requests = Self.requests(demand, Self.chunks())
        #expect(requests.isEmpty && !requests.isWanted)
    }

    private static func chunk(at position: UInt64) -> Int { Int(position / chunk) }

    @Test func lastCloseForgetsReaders() {
        var demand = FileDemand(retention: [], now: .zero)
        demand.opened(now: .seconds(1))
        demand.opened(now: .seconds(2))
        // Far enough for prefetch.
        for piece in 0..<8 as Range<UInt64> {
            demand.read(
                piece * 131_072..<(piece + 1) * 131_072, counts: true, now: .seconds(3),
                chunk: Self.chunk(at:))
        }
        var late = Self.chunks()
        #expect(late.started(1) == true)
        late.cancelled(1)
        #expect(demand.closed(now: .seconds(4)) == false)
        #expect(!demand.isUnused)
        #expect(demand.closed(now: .seconds(5)) == true)
        #expect(demand.isUnused && demand.lastUse == .seconds(5))
        #expect(Self.requests(demand, late).isEmpty)
    }

    @Test func waitingReadersPrecedeRetention() {
        var demand = FileDemand(retention: .kept, now: .zero)
        demand.opened(now: .zero)
        demand.waiting.add(
            1, .bytes(5 * Self.chunk..<5 * Self.chunk + 10), timeout: .seconds(10), now: .zero)
        let requests = Self.requests(demand, Self.chunks())
        #expect(requests.demand == [5])
        #expect(requests.background.first == 1)
        demand.waiting.remove(1)
        #expect(Self.requests(demand, Self.chunks()).demand.isEmpty)
    }

    @Test func peekDoesNotMarkFileFinished() {
        var demand = FileDemand(retention: [], now: .zero)
        demand.opened(now: .zero)
        demand.read(0..<4096, counts: true, now: .zero, chunk: Self.chunk(at:))
        #expect(!demand.wasReadOn(Self.chunks()))
        // Peeks at any offset fetch nothing further.
        demand.read(0..<4 * Self.chunk, counts: false, now: .zero, chunk: Self.chunk(at:))
        #expect(!demand.wasReadOn(Self.chunks()))
        demand.read(4096..<2 * Self.chunk, counts: true, now: .zero, chunk: Self.chunk(at:))
        #expect(demand.wasReadOn(Self.chunks()))
        // The core completes its own copy.
        #expect(!demand.wasReadOn(Self.chunks(isReceivedByCore: true)))
    }

    @Test func eachRetentionEndsSeparately() {
        var demand = FileDemand(retention: [], now: .zero)
        #expect(demand.retain(.kept) == true)
        #expect(demand.retain(.pinned) == true)
        #expect(demand.retain(.kept) == false)
        #expect(demand.wantsWhole(Self.chunks()))
        #expect(demand.letGo(.kept) == true)
        #expect(demand.letGo(.kept) == false)
        #expect(demand.isRetained && demand.isPinned)
        #expect(demand.letGo(.pinned) == true)
        #expect(!demand.isRetained && !demand.wantsWhole(Self.chunks()))
    }

    @Test func deletedItemIsNotFetched() {
        var demand = FileDemand(retention: .pinned, now: .zero)
        demand.opened(now: .zero)
        #expect(!Self.requests(demand, Self.chunks()).isEmpty)
        demand.removed()
        #expect(!demand.isRetained)
        #expect(Self.requests(demand, Self.chunks()) == FetchRequests())
        #expect(!demand.isUnused, "who has it open keeps what is here")
    }
}
