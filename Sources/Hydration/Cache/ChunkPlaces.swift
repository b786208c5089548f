/// Where the bytes of each chunk of one stream lie. A value; of what is not listed, nothing is held.
///
/// * arrived: from nowhere;
/// * on the disk of the cache, or in its memory: from arrived;
/// * written: from arrived or memory. What also lies on the disk of the cache stays there, since reading it back
///   is cheaper;
/// * nowhere: from everywhere.
struct ChunkPlaces: Sendable {
    enum Place: Sendable {
        /// In the memory that it was received into.
        case arrived(any FetchedChunk)
        /// On the disk of the cache, with a number that no other stay there has.
        case disk(UInt64)
        /// In the memory of the cache, as long as that is not needed for others.
        case memory
        /// Only in the CryptoFile that the storage pipeline writes.
        case written

        /// In the cache or in the CryptoFile.
        var isOnDisk: Bool {
            switch self {
            case .disk, .written: true
            case .arrived, .memory: false
            }
        }

        /// Whether it is the same stay at the same place.
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
    /// The CryptoFile, as far as it is written.
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
