import SMP

/// The relay's disk quota and its use. `rollBack` undoes all changes when the database transaction fails.
struct DiskUse {
    /// The maximum size of a row with its index entries, in bytes.
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
    ///   - limit: The quota in bytes, or nil for no limit.
    ///   - bytes: The bytes in use.
    init(limit: UInt64?, bytes: UInt64) {
        self.limit = limit ?? .max
        self.bytes = bytes
        before = bytes
    }

    mutating func commit() { before = bytes }
    mutating func rollBack() { bytes = before }

    /// Throws `.quota` if `more` bytes exceed the limit.
    func require(_ more: UInt64) throws(ServerError) {
        let (sum, overflow) = bytes.addingReportingOverflow(more)
        guard !overflow, sum <= limit else { throw .quota }
    }

    /// Returns whether `more` bytes reach into the last quarter of the quota.
    func isScarce(after more: UInt64) -> Bool {
        bytes.addingReportingOverflow(more).partialValue > limit / 4 * 3
    }

    mutating func add(_ more: UInt64) { bytes += more }
    mutating func remove(_ less: UInt64) { bytes -= min(bytes, less) }
}
