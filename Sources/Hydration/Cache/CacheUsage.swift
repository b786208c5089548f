import Base

/// Bytes of partly received files and plain copies on the disk.
final class CacheUsage: Sendable {
    private let bytes = Lock<UInt64>(0, rank: .innermost)

    var total: UInt64 { bytes.withLock { $0 } }
    func take(_ count: UInt64) { bytes.withLock { $0 += count } }
    func give(_ count: UInt64) { bytes.withLock { $0 -= min(count, $0) } }
}
