/// Detects sequential readers of one file by the ranges of their reads. A sequential reader gets a window
/// that grows with the bytes read; random reads get none.
struct ReadAhead: Sendable {
    private struct Stream {
        /// Expected position of the next read.
        var next: UInt64
        /// Bytes read in sequence.
        var run: UInt64
        var lastUse: UInt64

        func window(limit: Int) -> Window {
            let chunks =
                switch run {
                case ..<(512 << 10): 0
                case ..<(1 << 20): 1
                case ..<(2 << 20): 2
                case ..<(8 << 20): 4
                default: limit
                }
            return Window(position: next, chunks: min(chunks, limit))
        }
    }

    /// A reader's position and the number of chunks to fetch ahead.
    struct Window: Hashable, Sendable {
        var position: UInt64
        var chunks: Int
    }

    /// Maximum disorder in bytes: the kernel sends several read-ahead requests at once.
    private static let disorder: UInt64 = 512 << 10
    private static let maxStreams = 4

    /// Bytes read in sequence, without repeated ranges.
    private(set) var total: UInt64 = 0
    private var streams: [Stream] = []
    private var uses: UInt64 = 0

    /// Records a read of this content range, hit or miss. Returns false if no window moved by a chunk, so
    /// that the wanted chunks are unchanged.
    /// - Parameter chunk: Maps a content position to its chunk.
    @discardableResult
    mutating func note(_ range: Range<UInt64>, chunk: (UInt64) -> Int) -> Bool {
        uses += 1
        let known = streams.firstIndex { stream in
            range.lowerBound <= stream.next + Self.disorder && range.upperBound + Self.disorder >= stream.next
        }
        if let known {
            let before = streams[known]
            let progress = range.upperBound > before.next ? range.upperBound - before.next : 0
            streams[known].run += progress
            streams[known].next += progress
            streams[known].lastUse = uses
            total += progress
            return streams.contains { $0.lastUse > before.lastUse && $0.lastUse < uses }
                || before.window(limit: .max).chunks != streams[known].window(limit: .max).chunks
                || chunk(before.next) != chunk(streams[known].next)
        }
        if streams.count == Self.maxStreams,
            let oldest = streams.indices.min(by: { streams[$0].lastUse < streams[$1].lastUse })
        {
            streams.remove(at: oldest)
        }
        // A read from the start counts as sequential; elsewhere a second read must prove it.
        let run = range.lowerBound == 0 ? UInt64(range.count) : 0
        total += UInt64(range.count)
        streams.append(Stream(next: range.upperBound, run: run, lastUse: uses))
        return true
    }

    mutating func forget() { streams = [] }

    /// Returns true if a sequential reader has yet to read this chunk.
    /// - Parameter chunk: Maps a content position to its chunk.
    func hasReader(before number: Int, chunk: (UInt64) -> Int) -> Bool {
        streams.contains { $0.run > 0 && chunk($0.next) <= number }
    }

    /// Windows by last use, latest first, each with at most `limit` chunks.
    func windows(limit: Int) -> [Window] {
        if streams.isEmpty { return [] }
        return streams.sorted { $0.lastUse > $1.lastUse }.map { $0.window(limit: limit) }
    }
}
