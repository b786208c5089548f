import Cryptography

/// Limits on the message keys kept for missing messages (MKSKIPPED).
public enum SkippedKeys {
    /// MAX_SKIP: the number of messages that may be missing before a message of the same chain.
    public static let maxAhead = 512
    /// The number of keys in all chains together. The oldest are deleted first.
    public static let maxCount = 2048
    /// The number of previous chains. Each took two changes of direction.
    public static let maxChains = 128
    /// The number of previous chains without skipped keys. Their header keys identify repeated messages.
    static let maxCompleteChains = 16
}

/// A chain of the peer with the keys of its missing messages.
struct ReceivingChain: Sendable {
    /// HKr, 32 bytes.
    let headerKey: WipedBytes
    /// Nr: the number of the next message.
    private(set) var messageNumber: UInt32 = 0
    /// Keys of messages below this number may have been deleted unused.
    private(set) var deletedBelow: UInt32 = 0
    /// The keys of missing messages, by ascending number.
    private(set) var skipped: [(number: UInt32, key: MessageKey)] = []

    init(headerKey: WipedBytes) { self.headerKey = headerKey }

    /// Restores a stored chain. Returns nil if the numbers contradict each other.
    init?(
        headerKey: WipedBytes, messageNumber: UInt32, deletedBelow: UInt32,
        skipped: [(number: UInt32, key: MessageKey)]
    ) {
        let isRising = zip(skipped, skipped.dropFirst()).allSatisfy { $0.number < $1.number }
        guard isRising, deletedBelow <= messageNumber,
            skipped.allSatisfy({ deletedBelow..<messageNumber ~= $0.number })
        else {
            return nil
        }
        self.headerKey = headerKey
        self.messageNumber = messageNumber
        self.deletedBelow = deletedBelow
        self.skipped = skipped
    }

    /// SkipMessageKeysHE: stores the keys of all messages before `number`.
    mutating func skipMessageKeys(until number: UInt32, chainKey: inout WipedBytes) throws(RatchetError) {
        // A lower PN than the number of received messages is false.
        guard number >= messageNumber else { throw .malformed }
        guard number - messageNumber <= SkippedKeys.maxAhead else {
            throw RatchetError(
                .tooManySkipped,
                "Cannot decrypt a message: more than \(SkippedKeys.maxAhead) messages before it are missing.")
        }
        while messageNumber < number { skipped.append((messageNumber, nextMessageKey(&chainKey))) }
    }

    /// Returns the key of the next message and advances the chain key (KDF_CK).
    mutating func nextMessageKey(_ chainKey: inout WipedBytes) -> MessageKey {
        let step = KeyDerivation.kdfCK(chainKey)
        chainKey = step.chainKey
        messageNumber += 1
        return step.key
    }

    /// Removes and returns the key of a skipped message (TrySkippedMessageKeysHE).
    mutating func takeSkippedKey(_ number: UInt32) throws(RatchetError) -> MessageKey {
        guard number < messageNumber else { throw .malformed }
        if let place = skipped.firstIndex(where: { $0.number == number }) {
            return skipped.remove(at: place).key
        }
        guard number < deletedBelow else {
            throw RatchetError(.repeated, "The encrypted message was received before.")
        }
        throw RatchetError(
            .tooOld, "The key of the encrypted message was deleted: it is too old or was received before.")
    }

    /// Deletes the `count` oldest skipped keys.
    mutating func deleteOldestKeys(_ count: Int) {
        guard count > 0, let last = skipped.prefix(count).last else { return }
        deletedBelow = last.number + 1
        skipped.removeFirst(min(count, skipped.count))
    }
}
