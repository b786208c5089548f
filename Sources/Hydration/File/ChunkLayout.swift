/// Positions and relays of the chunks of one file.
struct ChunkLayout: Hashable, Sendable {
    /// Start of each chunk in the stream, and as last element the stream's length.
    let offsets: [UInt64]
    /// Name of each chunk's relay.
    let relays: [String]

    /// Returns nil for no chunks or an empty chunk.
    init?(_ chunks: [ChunkPlace]) {
        guard !chunks.isEmpty else { return nil }
        var offsets: [UInt64] = [0]
        for chunk in chunks {
            guard chunk.size > 0 else { return nil }
            offsets.append(offsets[offsets.count - 1] + UInt64(chunk.size))
        }
        self.offsets = offsets
        relays = chunks.map(\.relay)
    }

    var count: Int { relays.count }
    var streamSize: UInt64 { offsets[count] }

    func range(of chunk: Int) -> Range<UInt64> { offsets[chunk]..<offsets[chunk + 1] }
    func size(of chunk: Int) -> UInt64 { offsets[chunk + 1] - offsets[chunk] }

    /// The chunk at a position of the stream, or the last chunk for positions beyond the end.
    func chunk(at position: UInt64) -> Int {
        var low = 0
        var high = count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if offsets[middle] <= position { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// The chunks that overlap a range of the stream.
    func chunks(_ range: Range<UInt64>) -> Range<Int> {
        guard !range.isEmpty, range.lowerBound < streamSize else { return 0..<0 }
        return chunk(at: range.lowerBound)..<chunk(at: range.upperBound - 1) + 1
    }
}
