/// Where random bytes come from. The system's generator in the program, a counter in tests that
/// need the same bytes twice.
public protocol RandomSource: Sendable {
    /// `count` bytes, fit for keys and nonces.
    func bytes(_ count: Int) -> [UInt8]
}

/// The kernel's generator, through Swift's.
public struct SystemRandomSource: RandomSource {
    public init() {}

    public func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            var word = generator.next() as UInt64
            for _ in 0..<min(8, count - bytes.count) {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        return bytes
    }
}
