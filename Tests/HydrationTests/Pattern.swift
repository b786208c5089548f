/// Bytes computed from their offset, so that any part can be generated and checked alone. The period is unrelated to
/// blocks and chunks.
enum Pattern {
    private static let period = 1_000_003
    private static let table: [UInt8] = {
        var dice = Dice(seed: 4711)
        let once = (0..<period / 8 + 1).flatMap { _ in
            withUnsafeBytes(of: dice.next() as UInt64) { Array($0) }
        }.prefix(period)
        return Array(once + once)
    }()

    static func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, seed: UInt64) {
        var done = 0
        while done < buffer.count {
            let start = Int((offset + UInt64(done) + seed * 7919) % UInt64(period))
            let count = min(period, buffer.count - done)
            table.withUnsafeBytes { table in
                UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: table[start..<start + count]))
            }
            done += count
        }
    }

    static func bytes(_ range: Range<UInt64>, seed: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            fill(UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound, seed: seed)
            count = range.count
        }
    }
}

/// A generator with a fixed seed, so that failures are reproducible.
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_f491_4f6c_dd1d
    }
}
