import Network

/// What each address may still have of the relay within the hour: queues, and bytes of its disk while these are scarce. In
/// memory alone: no address is ever stored.
struct PeerAllowances {
    private let queuesPerHour: Int
    private let scarceBytesPerHour: Int
    private var queues: [PeerAddress: RateAllowance] = [:]
    private var scarceBytes: [PeerAddress: RateAllowance] = [:]

    /// - Parameters:
    ///   - queuesPerHour: that one address may make.
    ///   - quota: of the disk, in bytes; nil: none.
    init(queuesPerHour: Int, quota: UInt64?) {
        self.queuesPerHour = queuesPerHour
        // One address alone would fill the last quarter in more time than queues stay that nobody uses.
        scarceBytesPerHour = max(Self.leastScarceBytes, Int(clamping: (quota ?? .max) / 1024))
    }

    private static let leastScarceBytes = 64 << 10

    /// Takes one queue; false when the address has made its own of this hour.
    mutating func takeQueue(_ peer: PeerAddress, now: Int64) -> Bool {
        queues[peer, default: RateAllowance(queuesPerHour, now: now)].take(now: now)
    }

    /// Takes bytes of a disk of which little is left; false when the address has had its own.
    mutating func takeScarce(_ bytes: UInt64, _ peer: PeerAddress, now: Int64) -> Bool {
        scarceBytes[peer, default: RateAllowance(scarceBytesPerHour, now: now)]
            .take(Int(clamping: bytes), now: now)
    }

    /// Forgets addresses that have all of theirs again.
    mutating func forgetFull(now: Int64) {
        func forget(_ allowances: inout [PeerAddress: RateAllowance]) {
            for (peer, var allowance) in allowances where allowance.isFull(now: now) {
                allowances[peer] = nil
            }
        }
        forget(&queues)
        forget(&scarceBytes)
    }

    /// Addresses that something is known of. For tests.
    var count: Int { Set(queues.keys).union(scarceBytes.keys).count }
}
