import Base

/// Memory that clients of the relay may have together, beyond the little that each has for itself. Any thread.
final class ByteBudget: Sendable {
    private let limit: Int
    private let taken = Lock(0)

    init(limit: Int) { self.limit = limit }

    /// Bytes that are taken.
    var used: Int { taken.withLock { $0 } }

    /// Takes so many; false when there are not enough.
    func take(_ bytes: Int) -> Bool {
        taken.withLock { taken in
            guard taken + bytes <= limit else { return false }
            taken += bytes
            return true
        }
    }

    /// Takes them whether or not there are enough: for what is in memory already.
    func takeAnyway(_ bytes: Int) { taken.withLock { $0 += bytes } }

    func giveBack(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}

/// What one client has in memory, and what of it counts in the budget of all. A value; whoever has it locks it.
struct HeldBytes {
    /// What each client has for itself, so that one that asks little goes on when others have taken everything: a block with
    /// its commands, and a message.
    static let own = 52 << 10
    /// What a client has at most, with its own.
    static let most = 1 << 20

    private let budget: ByteBudget
    private(set) var bytes = 0

    init(_ budget: ByteBudget) { self.budget = budget }

    private static func shared(_ bytes: Int) -> Int { max(0, bytes - own) }

    /// Whether the client may have so many more.
    func mayTake(_ more: Int) -> Bool {
        guard Self.shared(bytes + more) > 0 else { return true }
        let missing = Self.shared(bytes + more) - Self.shared(bytes)
        guard bytes + more <= Self.most, budget.take(missing) else { return false }
        budget.giveBack(missing)
        return true
    }

    /// Takes so many if the client may have them.
    mutating func take(_ more: Int) -> Bool {
        guard mayTake(more) else { return false }
        takeAnyway(more)
        return true
    }

    /// Counts what is there already.
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
