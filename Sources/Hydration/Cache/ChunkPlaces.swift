/// The place of each chunk of one stream. Chunks without an entry are not held. A value with these
/// transitions:
///
/// - arrived: from no place
/// - cache disk or cache memory: from arrived
/// - written: from arrived or cache memory; a copy on the cache's disk stays, because reading it back is
///   cheaper
/// - no place: from every place
struct ChunkPlaces: Sendable {
    enum Place: Sendable {
        /// In the receive buffer.
        case arrived(any FetchedChunk)
        /// On the cache's disk, with a number that is unique to this write.
        case disk(UInt64)
        /// In the cache's memory, until evicted.
        case memory
        /// Only in the CryptoFile that the storage pipeline writes.
        case written

        /// True for the cache's disk and the CryptoFile.
        var isOnDisk: Bool {
            switch self {
            case .disk, .written: true
            case .arrived, .memory: false
            }
        }

        /// Returns true if the chunk has not moved since `other` was read.
        func isSame(as other: Place?) -> Bool {
            switch (self, other) {
            case (.disk(let number), .disk(let now)): number == now
            case (.memory, .memory), (.written, .written): true
            case (.arrived(let fetched), .arrived(let now)): fetched === now
            default: false
            }
        }
    }

    private var places: [Int: Place] = [:]
    private var lastNumber: UInt64 = 0
    /// The written part of the CryptoFile.
    private(set) var written: WrittenContent?

    subscript(chunk: Int) -> Place? { places[chunk] }

    /// In ascending order.
    var chunksOnDisk: [Int] { places.filter(\.value.isOnDisk).keys.sorted() }

    mutating func arrived(_ chunk: Int, _ fetched: any FetchedChunk) { places[chunk] = .arrived(fetched) }

    mutating func keptOnDisk(_ chunk: Int) {
        lastNumber += 1
        places[chunk] = .disk(lastNumber)
    }

    mutating func keptInMemory(_ chunk: Int) { places[chunk] = .memory }

    mutating func written(_ chunk: Int, to content: WrittenContent) {
        written = content
        if case .disk = places[chunk] { return }
        places[chunk] = .written
    }

    mutating func forget(_ chunk: Int) { places[chunk] = nil }
}
