import SMP

/// How much of its disk a relay gives, and what of it is in use: what strangers can make grow. Changes are taken back
/// by `rollBack`, as those of the database are when it cannot commit.
struct DiskUse {
    /// A row and what indexes say of it, at most.
    static let queue: UInt64 = 1024
    static let message: UInt64 = 256

    static func link(_ data: LinkBlobs?) -> UInt64 {
        data.map { UInt64($0.fixed.count + $0.user.count) } ?? 0
    }

    static func message(_ body: [UInt8]) -> UInt64 { message + UInt64(body.count) }

    private let limit: UInt64
    private(set) var bytes: UInt64
    private var before: UInt64

    /// - Parameters:
    ///   - limit: nil for none but the disk.
    ///   - bytes: in use already.
    init(limit: UInt64?, bytes: UInt64) {
        self.limit = limit ?? .max
        self.bytes = bytes
        before = bytes
    }

    mutating func commit() { before = bytes }
    mutating func rollBack() { bytes = before }

    /// Refuses what the disk is not to hold.
    func require(_ more: UInt64) throws(ServerError) {
        let (sum, overflow) = bytes.addingReportingOverflow(more)
        guard !overflow, sum <= limit else { throw .quota }
    }

    /// Whether the last quarter is touched by so many more.
    func isScarce(after more: UInt64) -> Bool {
        bytes.addingReportingOverflow(more).partialValue > limit / 4 * 3
    }

    mutating func add(_ more: UInt64) { bytes += more }
    mutating func remove(_ less: UInt64) { bytes -= min(bytes, less) }
}
