import FileSystem

/// Computes the rate of a mount's transfers from successive statuses. A pure value.
struct TransferRate {
    /// Time over which the rate is averaged.
    static let window = Duration.seconds(10)
    /// Minimum time between the first and the last status for a rate.
    private static let least = Duration.milliseconds(500)

    private struct Sample {
        var time: Duration
        var moved: UInt64
    }

    private var samples: [Sample] = []
    private var known: [String: MountStatus.Transfer] = [:]
    private var moved: UInt64 = 0

    /// Adds a status.
    ///
    /// - Parameter time: Time since a fixed moment.
    /// - Returns: Bytes per second in both directions; nil until two statuses are far enough apart.
    mutating func add(_ transfers: [MountStatus.Transfer], at time: Duration) -> UInt64? {
        var current: [String: MountStatus.Transfer] = [:]
        for transfer in transfers where StatusTotals.isMoving(transfer) { current[transfer.path] = transfer }
        if !samples.isEmpty {
            for (path, before) in known {
                // A transfer that is no longer listed is complete, unless it stopped.
                let stopped = transfers.first { $0.path == path && !StatusTotals.isMoving($0) }
                let now = current[path]?.done ?? stopped?.done ?? before.size
                moved &+= now > before.done ? now - before.done : 0
            }
            for (path, transfer) in current where known[path] == nil { moved &+= transfer.done }
        }
        known = current
        samples.append(Sample(time: time, moved: moved))
        while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
        guard let first = samples.first, time - first.time >= Self.least else { return nil }
        return UInt64(Double(moved &- first.moved) / ((time - first.time) / .seconds(1)))
    }
}
