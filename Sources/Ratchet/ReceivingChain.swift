import Cryptography

/// How many keys of messages that have not come are kept, and for how long.
public enum SkippedKeys {
    /// Messages that may be missing before one of the same chain.
    public static let maxAhead = 512
    /// Keys of all chains together; the oldest go first.
    public static let maxCount = 2048
    /// Chains, after each of which the direction changed twice.
    public static let maxChains = 128
    /// Of those, chains of which nothing is missing: kept to tell a message that comes again from one that cannot be
    /// read.
    static let maxCompleteChains = 16
}

/// What one side knows of a chain of the other.
struct ReceivingChain: Sendable {
    let headerKey: WipedBytes
    /// Of the next message.
    private(set) var next: UInt32 = 0
    /// Keys of messages below this number were let go of.
    private(set) var forgottenBelow: UInt32 = 0
    /// Keys of messages that have not come, by rising number.
    private(set) var skipped: [(number: UInt32, key: MessageKey)] = []

    init(headerKey: WipedBytes) { self.headerKey = headerKey }

    /// A stored one; nil when it contradicts itself.
    init?(
        headerKey: WipedBytes, next: UInt32, forgottenBelow: UInt32,
        skipped: [(number: UInt32, key: MessageKey)]
    ) {
        let isRising = zip(skipped, skipped.dropFirst()).allSatisfy { $0.number < $1.number }
        guard isRising, forgottenBelow <= next, skipped.allSatisfy({ forgottenBelow..<next ~= $0.number })
        else {
            return nil
        }
        self.headerKey = headerKey
        self.next = next
        self.forgottenBelow = forgottenBelow
        self.skipped = skipped
    }

    /// Goes on to a message, keeping the keys of those before it.
    mutating func skip(to number: UInt32, chain: inout WipedBytes) throws(RatchetError) {
        // A peer that says less than it has sent.
        guard number >= next else { throw .malformed }
        guard number - next <= SkippedKeys.maxAhead else {
            throw RatchetError(
                .tooManySkipped, "More than \(SkippedKeys.maxAhead) messages of the contact are missing.")
        }
        while next < number { skipped.append((next, advance(&chain))) }
    }

    /// The key of the next message.
    mutating func advance(_ chain: inout WipedBytes) -> MessageKey {
        let step = KeyDerivation.chain(chain)
        chain = step.chain
        next += 1
        return step.key
    }

    /// Takes the key of a message that was skipped.
    mutating func take(_ number: UInt32) throws(RatchetError) -> MessageKey {
        guard number < next else { throw .malformed }
        if let place = skipped.firstIndex(where: { $0.number == number }) {
            return skipped.remove(at: place).key
        }
        guard number < forgottenBelow else {
            throw RatchetError(.repeated, "An encrypted message came once more.")
        }
        throw RatchetError(
            .tooOld, "An encrypted message came so late that its key is gone, or came once more.")
    }

    mutating func forgetOldest(_ count: Int) {
        guard count > 0, let last = skipped.prefix(count).last else { return }
        forgottenBelow = last.number + 1
        skipped.removeFirst(min(count, skipped.count))
    }
}
