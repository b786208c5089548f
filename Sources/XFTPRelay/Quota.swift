import Base

/// The relay's disk quota. Covers stored chunks, active uploads, and records, which strangers can create too.
final class Quota: Sendable {
    /// The maximum database space in bytes, with indexes, of a chunk's record and of each recipient's.
    static let chunkRecord: UInt64 = 512
    static let recipientRecord: UInt64 = 256

    private let limit: UInt64
    private let used = Lock<UInt64>(0)

    init(_ limit: UInt64?) { self.limit = limit ?? .max }

    static func record(recipients: Int) -> UInt64 { chunkRecord + UInt64(recipients) * recipientRecord }

    /// Reserves `bytes`. Returns false if the quota is exhausted.
    func take(_ bytes: UInt64) -> Bool {
        used.withLock { used in
            let (sum, overflow) = used.addingReportingOverflow(bytes)
            guard !overflow, sum <= limit else { return false }
            used = sum
            return true
        }
    }

    /// The reserved bytes, and the limit, or nil if there is none.
    var taken: UInt64 { used.withLock { $0 } }
    var most: UInt64? { limit == .max ? nil : limit }

    /// Adds existing bytes, even beyond the limit.
    func count(_ bytes: UInt64) { used.withLock { $0 += bytes } }

    func giveBack(_ bytes: UInt64) { used.withLock { $0 -= min($0, bytes) } }
}
