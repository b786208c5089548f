import ChatCore
import Testing

@testable import Hydration

/// The location of chunks, and their accounting on the disk.
@Suite struct ChunkPlacesTests {
    private static let source = MemorySource(size: 3 * 65_536)

    private static func stream(_ usage: CacheUsage) throws -> CachedStream {
        CachedStream(
            id: 1, layout: try #require(ChunkLayout(source.chunks)), disk: nil,
            memory: ChunkMemory(limit: 2 * 65_536), usage: usage)
    }

    @Test func movedChunkChangesItsStay() async throws {
        let fetched = try await Self.source.fetch(0) { _ in }
        var places = ChunkPlaces()
        #expect(places[0] == nil && places.chunksOnDisk.isEmpty)
        places.arrived(0, fetched)
        let arrived = places[0]
        #expect(arrived?.isSame(as: places[0]) == true && arrived?.isOnDisk == false)
        places.keptOnDisk(0)
        let first = places[0]
        #expect(arrived?.isSame(as: first) == false && places.chunksOnDisk == [0])
        places.forget(0)
        #expect(places[0] == nil)
        places.arrived(0, fetched)
        places.keptOnDisk(0)
        #expect(first?.isSame(as: places[0]) == false, "what was read in between may be zeros")
        places.keptInMemory(1)
        #expect(places.chunksOnDisk == [0])
        places.forget(0)
        #expect(places.chunksOnDisk.isEmpty)
    }

    @Test func sameMemoryIsTheSameStay() async throws {
        let (first, second) = (
            try await Self.source.fetch(0) { _ in }, try await Self.source.fetch(0) { _ in }
        )
        #expect(ChunkPlaces.Place.arrived(first).isSame(as: .arrived(first)))
        #expect(!ChunkPlaces.Place.arrived(first).isSame(as: .arrived(second)))
        #expect(!ChunkPlaces.Place.memory.isSame(as: nil))
        #expect(!ChunkPlaces.Place.memory.isSame(as: .written))
    }

    @Test func evictedChunksAreReleased() async throws {
        let usage = CacheUsage()
        let stream = try Self.stream(usage)
        for chunk in 0..<3 {
            let fetched = try await Self.source.fetch(chunk) { _ in }
            stream.hold(fetched, chunk)
            #expect(stream.holds(chunk) && !stream.keeps(chunk))
            let evicted = stream.keepInMemory(fetched, chunk)
            #expect(evicted == (chunk == 2 ? [ChunkMemory.Key(stream: 1, chunk: 0)] : []))
            #expect(stream.keeps(chunk))
        }
        #expect(!stream.holds(0) && stream.holds(1))
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(try bytes.withUnsafeMutableBytes { try stream.read(into: $0, at: 5) } == false)
        #expect(try bytes.withUnsafeMutableBytes { try stream.read(into: $0, at: 65_536 + 5) } == true)
        #expect(usage.total == 0 && stream.bytesOnDisk == 0)
        stream.forget(1)
        #expect(!stream.holds(1))
    }
}
