import Base

/// The memory of one client, and its part of the shared budget. A value; its owner locks it.
struct HeldBytes {
    /// The memory of each client outside the shared budget, in bytes: a block with its commands, and a message. A
    /// client with few requests therefore continues when others use up the budget.
    static let own = 52 << 10
    /// The maximum memory of a client in bytes.
    static let most = 1 << 20

    private let budget: Budget
    private(set) var bytes = 0

    init(_ budget: Budget) { self.budget = budget }

    private static func shared(_ bytes: Int) -> UInt64 { UInt64(max(0, bytes - own)) }

    /// Returns whether the client may use `more` bytes.
    func mayTake(_ more: Int) -> Bool {
        guard Self.shared(bytes + more) > 0 else { return true }
        let missing = Self.shared(bytes + more) - Self.shared(bytes)
        guard bytes + more <= Self.most, budget.take(missing) else { return false }
        budget.giveBack(missing)
        return true
    }

    /// Reserves `more` bytes if the client may use them.
    mutating func take(_ more: Int) -> Bool {
        guard mayTake(more) else { return false }
        takeAnyway(more)
        return true
    }

    /// Adds bytes that are already in memory.
    mutating func takeAnyway(_ more: Int) {
        budget.takeAnyway(Self.shared(bytes + more) - Self.shared(bytes))
        bytes += more
    }

    mutating func giveBack(_ less: Int) {
        let left = max(0, bytes - less)
        budget.giveBack(Self.shared(bytes) - Self.shared(left))
        bytes = left
    }
}
