import Synchronization

/// Counts the bytes of completely transferred chunks. Thread-safe.
public final class TransferredBytes: Sendable {
    private let fetchedBytes = Atomic<UInt64>(0)
    private let sentBytes = Atomic<UInt64>(0)

    public var fetched: UInt64 { fetchedBytes.load(ordering: .relaxed) }
    public var sent: UInt64 { sentBytes.load(ordering: .relaxed) }

    func addFetched(_ count: Int) { fetchedBytes.wrappingAdd(UInt64(count), ordering: .relaxed) }
    func addSent(_ count: Int) { sentBytes.wrappingAdd(UInt64(count), ordering: .relaxed) }
}
