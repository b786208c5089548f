import XFTP

/// The place of each received chunk of one file.
struct ChunkPlaces: Sendable {
    enum Place: Sendable {
        /// In the receive buffer.
        case arrived(any FetchedChunk)
        /// In `ChunkMemory`, until evicted.
        case inMemory
        /// Also in `unread` of the store if there was space, until a reader has passed it.
        case onDisk
        /// On the disk since an earlier mount, and not yet compared with its digest.
        case unchecked

        var isInMemory: Bool { if case .inMemory = self { true } else { false } }
        var isOnDisk: Bool { if case .onDisk = self { true } else { false } }
        var isUnchecked: Bool { if case .unchecked = self { true } else { false } }
        var takesDisk: Bool { isOnDisk || isUnchecked }
    }

    private var places: [Int: Place] = [:]
    /// The chunks that only `ChunkMemory` holds.
    private(set) var inMemory: Set<Int> = []

    subscript(chunk: Int) -> Place? {
        get { places[chunk] }
        set {
            places[chunk] = newValue
            if newValue?.isInMemory == true { inMemory.insert(chunk) } else { inMemory.remove(chunk) }
        }
    }

    /// The chunks not yet compared with their digests, in order.
    var unchecked: [Int] { places.filter(\.value.isUnchecked).keys.sorted() }

    func bytesOnDisk(_ layout: ChunkLayout) -> UInt64 {
        places.filter(\.value.takesDisk).keys.reduce(0) { $0 + layout.size(of: $1) }
    }
}
