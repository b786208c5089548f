import Base

/// The memory limit for all clients of the relay, beyond a fixed amount for each. Thread-safe.
final class ByteBudget: Sendable {
    private let limit: Int
    private let taken = Lock(0)

    init(limit: Int) { self.limit = limit }

    /// The used bytes.
    var used: Int { taken.withLock { $0 } }

    /// Reserves `bytes`. Returns false if they exceed the limit.
    func take(_ bytes: Int) -> Bool {
        taken.withLock { taken in
            guard taken + bytes <= limit else { return false }
            taken += bytes
            return true
        }
    }

    /// Adds bytes that are already in memory, even beyond the limit.
    func takeAnyway(_ bytes: Int) { taken.withLock { $0 += bytes } }

    func giveBack(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}

/// The memory of one client, and its part of the shared budget. A value; its owner locks it.
struct HeldBytes {
    /// The memory of each client outside the shared budget, in bytes: a block with its commands, and a message. A
    /// client with few requests therefore continues when others use up the budget.
    static let own = 52 << 10
    /// The maximum memory of a client in bytes.
    static let most = 1 << 20

    private let budget: ByteBudget
    private(set) var bytes = 0

    init(_ budget: ByteBudget) { self.budget = budget }

    private static func shared(_ bytes: Int) -> Int { max(0, bytes - own) }

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
