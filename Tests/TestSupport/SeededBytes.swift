import Base

/// A source of varying bytes, equal for equal seeds.
public final class SeededBytes: RandomSource {
    private let generator: Lock<SeededGenerator>

    public init(_ seed: UInt64) { generator = Lock(SeededGenerator(state: seed)) }

    public func bytes(_ count: Int) -> [UInt8] {
        generator.withLock { generator in
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
    }
}
