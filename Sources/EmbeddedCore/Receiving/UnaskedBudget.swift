import Base
import ChatCore

/// A daily limit on the files of one author that the core receives without a request. A message costs its sender some
/// bytes, and may name a file that another message named before.
struct UnaskedBudget: Hashable {
    /// In `period`, of one author in one chat.
    static let maxFiles = 100
    static let maxBytes: UInt64 = 64 << 20
    static let period = Duration.seconds(24 * 3600)

    /// When the period began in which these were received, by the clock of the database.
    private(set) var since: ElapsedTime
    private(set) var files: Int
    /// Of content.
    private(set) var bytes: UInt64

    init(since: ElapsedTime, files: Int = 0, bytes: UInt64 = 0) {
        (self.since, self.files, self.bytes) = (since, files, bytes)
    }

    /// Returns whether one more file may be received without a request.
    /// - Parameters:
    ///   - size: bytes of content.
    ///   - free: bytes that are free on the disk; nil if unknown.
    func allows(_ size: UInt64, free: UInt64?, at now: ElapsedTime) -> Bool {
        if let free, free < FilePolicy.minimumFree || free - FilePolicy.minimumFree < size { return false }
        let present = present(at: now)
        return present.files < Self.maxFiles && present.bytes < Self.maxBytes
            && size <= Self.maxBytes - present.bytes
    }

    /// Notes a file that `allows` has let through.
    mutating func spend(_ size: UInt64, at now: ElapsedTime) {
        self = present(at: now)
        files += 1
        bytes += min(size, Self.maxBytes)
    }

    /// Begins anew after the period. The clock of the database is behind by some minutes at most, after a power cut.
    private func present(at now: ElapsedTime) -> UnaskedBudget {
        now >= since && now < since.advanced(by: Self.period) ? self : UnaskedBudget(since: now)
    }
}
