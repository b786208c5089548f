import Network

/// The hourly allowances of each address: new queues, and disk space while it is scarce. Kept only in memory: addresses
/// are never stored.
struct PeerAllowances {
    private let queuesPerHour: Int
    private let scarceBytesPerHour: Int
    private var queues: [PeerAddress: RateAllowance] = [:]
    private var scarceBytes: [PeerAddress: RateAllowance] = [:]

    /// - Parameters:
    ///   - queuesPerHour: The number of queues that one address may create.
    ///   - quota: The disk quota in bytes, or nil for none.
    init(queuesPerHour: Int, quota: UInt64?) {
        self.queuesPerHour = queuesPerHour
        // Filling the last quarter from one address then takes longer than unused queues live.
        scarceBytesPerHour = max(Self.leastScarceBytes, Int(clamping: (quota ?? .max) / 1024))
    }

    private static let leastScarceBytes = 64 << 10

    /// Takes one queue. Returns false if the allowance is used up.
    mutating func takeQueue(_ peer: PeerAddress, now: Int64) -> Bool {
        queues[peer, default: RateAllowance(queuesPerHour, now: now)].take(now: now)
    }

    /// Takes bytes of a nearly full disk. Returns false if the allowance is used up.
    mutating func takeScarce(_ bytes: UInt64, _ peer: PeerAddress, now: Int64) -> Bool {
        scarceBytes[peer, default: RateAllowance(scarceBytesPerHour, now: now)]
            .take(Int(clamping: bytes), now: now)
    }

    /// Removes addresses with full allowances.
    mutating func forgetFull(now: Int64) {
        func forget(_ allowances: inout [PeerAddress: RateAllowance]) {
            for (peer, var allowance) in allowances where allowance.isFull(now: now) {
                allowances[peer] = nil
            }
        }
        forget(&queues)
        forget(&scarceBytes)
    }

    /// The number of known addresses. For tests.
    var count: Int { Set(queues.keys).union(scarceBytes.keys).count }
}
