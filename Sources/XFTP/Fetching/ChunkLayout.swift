/// Size and relay of one chunk.
public struct ChunkPlace: Hashable, Sendable {
    /// Bytes in the encrypted file, a multiple of 65,536.
    public var size: UInt32
    /// Any name for the relay. Chunks with the same name share the limit per relay.
    public var relay: String

    public init(size: UInt32, relay: String) { (self.size, self.relay) = (size, relay) }
}

extension FileDescription {
    /// The place of each chunk. It counts for its first relay; the client uses another one only if that fails or is
    /// silent.
    public var places: [ChunkPlace] {
        var names: [RelayAddress: String] = [:]
        return chunks.map { chunk in
            guard let relay = chunk.replicas.first?.relay else {
                return ChunkPlace(size: chunk.size, relay: "")
            }
            let name = names[relay] ?? relay.text
            names[relay] = name
            return ChunkPlace(size: chunk.size, relay: name)
        }
    }
}

/// Positions and relays of the chunks of one file.
public struct ChunkLayout: Hashable, Sendable {
    /// Start of each chunk in the stream, and as last element the stream's length.
    public let offsets: [UInt64]
    /// Name of each chunk's relay.
    public let relays: [String]

    /// Returns nil for no chunks or an empty chunk.
    public init?(_ chunks: [ChunkPlace]) {
        guard !chunks.isEmpty else { return nil }
        var offsets: [UInt64] = [0]
        for chunk in chunks {
            guard chunk.size > 0 else { return nil }
            offsets.append(offsets[offsets.count - 1] + UInt64(chunk.size))
        }
        self.offsets = offsets
        relays = chunks.map(\.relay)
    }

    public var count: Int { relays.count }
    public var streamSize: UInt64 { offsets[count] }

    public func range(of chunk: Int) -> Range<UInt64> { offsets[chunk]..<offsets[chunk + 1] }
    public func size(of chunk: Int) -> UInt64 { offsets[chunk + 1] - offsets[chunk] }

    /// The chunk at a position of the stream, or the last chunk for positions beyond the end.
    public func chunk(at position: UInt64) -> Int {
        var low = 0
        var high = count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if offsets[middle] <= position { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// The chunks that overlap a range of the stream.
    public func chunks(_ range: Range<UInt64>) -> Range<Int> {
        guard !range.isEmpty, range.lowerBound < streamSize else { return 0..<0 }
        return chunk(at: range.lowerBound)..<chunk(at: range.upperBound - 1) + 1
    }
}
