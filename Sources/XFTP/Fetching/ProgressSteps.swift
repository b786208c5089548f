import Base

/// Reports the received bytes of a chunk every 256 KiB, and at the first byte, which measures the relay's latency.
public final class ProgressSteps: Sendable {
    private static let step = 256 << 10

    private let counted = Lock((received: 0, told: -ProgressSteps.step))
    private let report: @Sendable (UInt64) -> Void

    /// - Parameter report: Receives the number of bytes of the current attempt.
    public init(_ report: @escaping @Sendable (_ received: UInt64) -> Void) { self.report = report }

    /// Counts as a `ByteCounter`.
    @Sendable public func count(_ bytes: Int) {
        let received = counted.withLock { counted -> Int? in
            counted.received += bytes
            // Another attempt has started; report its first bytes.
            if bytes < 0 { counted.told = counted.received - Self.step }
            guard bytes > 0, counted.received - counted.told >= Self.step else { return nil }
            counted.told = counted.received
            return counted.received
        }
        if let received { report(UInt64(received)) }
    }
}
