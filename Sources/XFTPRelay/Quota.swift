import Base

/// How much of its disk a relay gives: to the bytes of chunks, those on their way included, and to what it
/// has to remember about them, which strangers can make grow as well.
final class Quota: Sendable {
    /// What a record takes in the database at most, with its indexes: a chunk's, and each recipient's.
    static let chunkRecord: UInt64 = 512
    static let recipientRecord: UInt64 = 256

    private let limit: UInt64
    private let used = Lock<UInt64>(0)

    init(_ limit: UInt64?) { self.limit = limit ?? .max }

    static func record(recipients: Int) -> UInt64 { chunkRecord + UInt64(recipients) * recipientRecord }

    /// Reserves so many bytes; false when there is not enough.
    func take(_ bytes: UInt64) -> Bool {
        used.withLock { used in
            let (sum, overflow) = used.addingReportingOverflow(bytes)
            guard !overflow, sum <= limit else { return false }
            used = sum
            return true
        }
    }

    /// Bytes that are taken, and the limit; nil: none but the disk.
    var taken: UInt64 { used.withLock { $0 } }
    var most: UInt64? { limit == .max ? nil : limit }

    /// Counts what is there already, whether or not it fits.
    func count(_ bytes: UInt64) { used.withLock { $0 += bytes } }

    func giveBack(_ bytes: UInt64) { used.withLock { $0 -= min($0, bytes) } }
}
