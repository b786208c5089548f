/// Recognises who reads on and on, in a file that several may be reading, by the ranges alone. Reading on
/// opens a window in front of the reader that grows with what was read; jumping about opens none.
struct ReadAhead: Sendable {
    private struct Stream {
        /// Where the next read is expected.
        var next: UInt64
        /// Bytes read on without a jump.
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

    /// Where a reader is, and how many chunks ahead of it are worth fetching.
    struct Window: Hashable, Sendable {
        var position: UInt64
        var chunks: Int
    }

    /// The kernel's own read-ahead asks for several pieces at once, and they arrive in any order.
    private static let disorder: UInt64 = 512 << 10
    private static let maxStreams = 4

    /// Bytes that readers have read on over, the same ones again not counted.
    private(set) var total: UInt64 = 0
    private var streams: [Stream] = []
    private var uses: UInt64 = 0

    /// A read of this range of the content, hit or miss. False when every window is where it was, counted in chunks:
    /// nothing else is worth fetching than before.
    /// - Parameter chunk: that which holds a position.
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
        // A reader at the start will most likely go on, one elsewhere has to show it.
        let run = range.lowerBound == 0 ? UInt64(range.count) : 0
        total += UInt64(range.count)
        streams.append(Stream(next: range.upperBound, run: run, lastUse: uses))
        return true
    }

    mutating func forget() { streams = [] }

    /// Most recent first, none with more than `limit` chunks.
    func windows(limit: Int) -> [Window] {
        if streams.isEmpty { return [] }
        return streams.sorted { $0.lastUse > $1.lastUse }.map { $0.window(limit: limit) }
    }
}
