/// A source of random bytes: the system's generator, or a counter in tests that need equal bytes twice.
public protocol RandomSource: Sendable {
    /// Returns `count` bytes, suitable for keys and nonces.
    func bytes(_ count: Int) -> [UInt8]
}

/// The kernel's generator through Swift's.
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
