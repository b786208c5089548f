import Base
import Cryptography
import Posix
import XFTP

/// The received chunks of one file, encrypted as they came: on the disk in one sparse file, each at its
/// position, or in memory without space. Thread-safe. Methods that use the disk block.
final class ChunkStore: Sendable {
    /// The copy that the complete file becomes.
    enum Form: Sendable {
        /// The file itself, with its own key.
        case stream
        /// The content, encrypted with a fresh key.
        case content
        /// None: the core receives its own.
        case none

        var isKept: Bool { self != .none }
    }

    /// The place of the sparse file.
    enum Place: Sendable {
        /// A file that the next mount continues, and the core's staging folder.
        case partial(PartialFile, staging: OpenFile)
        case file(OpenFile)
        case memory
    }

    struct State {
        fileprivate(set) var chunks = ChunkPlaces()
        /// nil: memory only.
        var file: OpenFile?
        /// The disk failed to keep the file, so it cannot become the durable copy.
        var isSpent = false
        /// True after `handOver` or `erase`: nothing is written, and the bytes do not count.
        fileprivate var isClosed = false
        /// Number of losses since the last failure.
        fileprivate var losses = 0
    }

    /// A small pool of its own, so that storage never delays readers.
    static let threads = ThreadPool(name: "storing", threads: 2)
    /// For copies of complete files, which take minutes on a slow disk. Chunks of other files are stored meanwhile.
    static let copyThreads = ThreadPool(name: "completing", threads: 2)
    /// Maximum number of losses of one file.
    private static let maxLosses = 8
    private static let portion = 1 << 20
    private static let piece = 256 << 10

    /// Unique among the stores of one cache.
    let number: UInt64
    let layout: ChunkLayout
    let form: Form
    let arguments: FileArguments
    /// The core's staging folder; nil if the core gets no copy.
    let folder: OpenFile?
    let partial: PartialFile?
    let tags: BlockTags
    let contentEnd: UInt64
    let box: StreamBox
    let memory: ChunkMemory
    let unread: ChunkMemory
    private let usage: Budget
    let state: Lock<State>

    /// - Parameters:
    ///   - content: Expected place of the content in the stream, in bytes.
    ///   - memory: Chunks without space on the disk.
    ///   - unread: Chunks on the disk that a reader will request next.
    /// - Throws: `CryptographyError` `.invalidKey`; disk errors.
    init(
        number: UInt64, _ layout: ChunkLayout, _ arguments: FileArguments, _ form: Form, in place: Place,
        content: Range<UInt64>, memory: ChunkMemory, unread: ChunkMemory, usage: Budget
    ) throws {
        self.number = number
        self.layout = layout
        self.arguments = arguments
        self.form = form
        self.memory = memory
        self.unread = unread
        self.usage = usage
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        contentEnd = content.upperBound
        tags = BlockTags(sections: Array(layout.offsets.dropLast()), contentOffset: content.lowerBound)
        switch place {
        case .partial(let partial, let staging):
            (folder, self.partial) = (staging, partial)
            var state = State(file: partial.file)
            for chunk in partial.isNew ? [] : try Self.allocated(layout, partial.file) {
                state.chunks[chunk] = .unchecked
                usage.takeAnyway(layout.size(of: chunk))
            }
            self.state = Lock(state)
        case .file(let file): (folder, partial, state) = (nil, nil, Lock(State(file: file)))
        case .memory: (folder, partial, state) = (nil, nil, Lock(State()))
        }
    }

    deinit {
        dropFromMemory()
        usage.giveBack(bytesOnDisk)
    }

    private func dropFromMemory() {
        memory.drop(store: number)
        forgetUnread()
    }

    /// The chunks without a hole in the file.
    private static func allocated(_ layout: ChunkLayout, _ file: OpenFile) throws(SystemError) -> [Int] {
        var chunks: [Int] = []
        for chunk in 0..<layout.count {
            let range = layout.range(of: chunk)
            if try file.firstHole(from: range.lowerBound) >= range.upperBound { chunks.append(chunk) }
        }
        return chunks
    }

    /// Deletes the name of the file, so that the next mount does not continue it. Open readers keep the bytes.
    func deleteName() { partial?.remove() }

    /// nil: chunks are kept in memory only.
    var file: OpenFile? { state.withLock { $0.file } }

    /// Bytes of chunks on the disk. The core's copy does not count.
    var bytesOnDisk: UInt64 { state.withLock { counted($0) } }

    private func counted(_ state: State) -> UInt64 {
        state.isClosed ? 0 : state.chunks.bytesOnDisk(layout)
    }

    func key(_ chunk: Int) -> ChunkMemory.Key { ChunkMemory.Key(store: number, chunk: chunk) }

    func holds(_ chunk: Int) -> Bool {
        switch state.withLock({ $0.chunks[chunk] }) {
        case .arrived, .onDisk: true
        case .inMemory: memory.holds(key(chunk))
        case .unchecked, nil: false
        }
    }

    func isOnDisk(_ chunk: Int) -> Bool { state.withLock { $0.chunks[chunk]?.isOnDisk == true } }

    /// The chunks that only `ChunkMemory` holds.
    var chunksInMemory: [(number: Int, chunk: any FetchedChunk)] {
        let numbers = state.withLock(\.chunks.inMemory).sorted()
        return numbers.compactMap { number in memory.use(key(number)).map { (number, $0) } }
    }

    // MARK: - Chunks of an earlier mount

    /// The chunks not yet compared with their digests, in order.
    var unchecked: [Int] { state.withLock(\.chunks.unchecked) }

    /// The file if it has an unchecked chunk.
    func uncheckedFile(_ chunk: Int) -> OpenFile? {
        state.withLock { $0.chunks[chunk]?.isUnchecked == true ? $0.file : nil }
    }

    // MARK: - Keeping

    /// Records an arrived chunk. Reads use its memory until it is kept elsewhere or forgotten.
    func hold(_ fetched: any FetchedChunk, _ chunk: Int) { change(chunk, to: .arrived(fetched)) }

    /// Changes the place of a chunk and counts bytes on the disk. Returns the previous place.
    @discardableResult
    private func change(_ chunk: Int, to place: ChunkPlaces.Place?) -> ChunkPlaces.Place? {
        state.withLock { state in
            let before = state.chunks[chunk]
            state.chunks[chunk] = place
            if state.isClosed { return before }
            switch (before?.takesDisk == true, place?.takesDisk == true) {
            case (false, true): usage.takeAnyway(layout.size(of: chunk))
            case (true, false): usage.giveBack(layout.size(of: chunk))
            default: break
            }
            return before
        }
    }

    /// Writes a held chunk to the disk. Returns false if it is no longer wanted.
    /// - Parameters:
    ///   - isAwaited: Returns true while a sequential reader has yet to read a chunk.
    ///   - isHere: If true, the file has these bytes already.
    func write(
        _ fetched: any FetchedChunk, _ chunk: Int, isAwaited: (Int) -> Bool = { _ in false },
        isHere: Bool = false
    ) throws(SystemError) -> Bool {
        let file = state.withLock { $0.isClosed || $0.chunks[chunk] == nil ? nil : $0.file }
        guard let file else { return false }
        let start = layout.range(of: chunk).lowerBound
        var tagging = BlockTagging(tags, section: chunk)
        var written = 0
        while written < fetched.bytes.count {
            // Tagged first: the copy then finds the bytes in the processor's cache.
            let piece = UnsafeRawBufferPointer(rebasing: fetched.bytes.dropFirst(written).prefix(Self.piece))
            tagging.add(piece)
            if !isHere { try file.write(piece, at: start + UInt64(written)) }
            written += piece.count
        }
        // So that the final fsync is short. Not after each small chunk.
        if written >= Self.portion { file.beginWritingBack() }
        tagging.finish()
        // Reading it back would cost a copy and another pass over its tags.
        if isAwaited(chunk) {
            let (own, others) = unread.keys(of: number)
            let passed = own.filter { !isAwaited($0.chunk) }
            let later = own.filter { $0.chunk > chunk }.sorted { $0.chunk > $1.chunk }
            unread.keep(key(chunk), fetched, evicting: others + passed + later)
            // The reader passed it between the two checks.
            if !isAwaited(chunk) { unread.drop(key(chunk)) }
        }
        if change(chunk, to: .onDisk)?.isInMemory == true { memory.drop(key(chunk)) }
        return true
    }

    /// Keeps a chunk in memory. Returns the chunks that were evicted for it, of any store.
    func keepInMemory(_ fetched: any FetchedChunk, _ chunk: Int) -> [ChunkMemory.Key] {
        let gone = memory.keep(key(chunk), fetched)
        change(chunk, to: .inMemory)
        return gone
    }

    /// Frees the memory for readers. They read from the disk from then on.
    func forgetUnread() { unread.drop(store: number) }

    /// Drops a chunk that is no longer here.
    func forget(_ chunk: Int) {
        change(chunk, to: nil)
        unread.drop(key(chunk))
    }

    /// Drops chunks that the disk lost.
    /// - Throws: `cache` after too many losses.
    func lost(_ chunks: [Int]) throws(HydrationError) {
        let isHopeless = state.withLock { state in
            state.losses += 1
            return state.losses > Self.maxLosses
        }
        if isHopeless { throw .diskDoesNotKeep }
        for chunk in chunks { forget(chunk) }
    }

    /// Forgets the losses before a new try.
    func resume() { state.withLock { $0.losses = 0 } }

    /// The core has the file. It is read until the store is gone, but never written. Blocks.
    func handOver() {
        state.withLock { state in
            usage.giveBack(counted(state))
            state.isClosed = true
        }
        partial?.remove()
        forgetUnread()
    }

    /// Frees the disk space at once, even if the store is still used.
    func erase() {
        handOver()
        for chunk in 0..<layout.count { forget(chunk) }
        dropFromMemory()
        try? file?.truncate(to: 0)
    }
}

/// Chunks that the disk no longer holds; they must be fetched again.
struct DamagedChunks: Error {
    let chunks: [Int]
}
