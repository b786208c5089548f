import Base
import ChatCore

/// Daily limit on automatically received files per author. Without it, a sender could cause large downloads
/// with a few bytes, even of the same file.
struct ReceptionBudget: Hashable {
    /// Limits per `period`, author and chat.
    static let maxFiles = 100
    static let maxBytes: UInt64 = 64 << 20
    static let period = Duration.seconds(24 * 3600)

    /// Start of the current period, by the database's clock.
    private(set) var since: ElapsedTime
    private(set) var files = 0
    /// Plaintext bytes.
    private(set) var bytes: UInt64 = 0

    /// Returns whether another file may be received automatically.
    /// - Parameters:
    ///   - size: plaintext size in bytes.
    ///   - free: free disk space in bytes; nil if unknown.
    ///   - quarters: limits in quarters of the usual ones.
    func allows(_ size: UInt64, free: UInt64?, at now: ElapsedTime, quarters: Int = 4) -> Bool {
        if let free, free < FilePolicy.minimumFree || free - FilePolicy.minimumFree < size { return false }
        let present = present(at: now)
        let maxBytes = Self.maxBytes / 4 * UInt64(quarters)
        return present.files < Self.maxFiles / 4 * quarters && present.bytes < maxBytes
            && size <= maxBytes - present.bytes
    }

    /// Charges a file that `allows` has permitted.
    mutating func spend(_ size: UInt64, at now: ElapsedTime) {
        self = present(at: now)
        files += 1
        bytes += min(size, Self.maxBytes)
    }

    /// Starts a new period if the last one is over. After a power cut the database's clock may lag by
    /// minutes.
    private func present(at now: ElapsedTime) -> ReceptionBudget {
        now >= since && now < since.advanced(by: Self.period) ? self : ReceptionBudget(since: now)
    }
}
