import Cryptography

/// Numbers and hashes of the messages of both directions, by which each side knows that nothing is missing.
struct MessageSequence: Hashable, Sendable {
    /// 0 before the first message.
    private(set) var lastSent: Int64
    private(set) var lastSentHash: [UInt8]
    private(set) var lastReceived: Int64
    private(set) var lastReceivedHash: [UInt8]

    init(
        lastSent: Int64 = 0, lastSentHash: [UInt8] = [], lastReceived: Int64 = 0,
        lastReceivedHash: [UInt8] = []
    ) {
        self.lastSent = lastSent
        self.lastSentHash = lastSentHash
        self.lastReceived = lastReceived
        self.lastReceivedHash = lastReceivedHash
    }

    /// The number of the message that is sent next.
    var next: Int64 { lastSent + 1 }

    /// Counts a message that is sent. Answers its hash.
    mutating func send(_ message: [UInt8]) -> [UInt8] {
        lastSent += 1
        lastSentHash = SHA256.hash(message)
        return lastSentHash
    }

    /// Never gives a number again that the other side has seen, though this side has forgotten it.
    mutating func skip(to number: Int64) {
        // Far more than were ever sent is no number of ours.
        guard number > lastSent, number - lastSent < 1 << 32 else { return }
        lastSent = number
    }

    /// Counts the first message of the other side, which has no number in it.
    mutating func receiveFirst(_ message: [UInt8]) {
        lastReceived = 1
        lastReceivedHash = SHA256.hash(message)
    }

    /// Counts a message that was received, and says whether it follows the one before it.
    /// - Parameter isLate: it was in a queue that is being emptied. Later messages may have come in the new one, and
    ///   stay the last: the other side relies on that number when keys change.
    mutating func receive(
        _ message: [UInt8], number: Int64, previousHash: [UInt8], isLate: Bool = false
    ) -> MessageIntegrity {
        let integrity: MessageIntegrity
        if number <= lastReceived {
            integrity = .numberRepeated
        } else if number > lastReceived + 1 {
            integrity = .skipped(lastReceived + 1...number - 1)
        } else {
            integrity = previousHash == lastReceivedHash ? .complete : .wrongHash
        }
        guard !isLate || number > lastReceived else { return integrity }
        lastReceived = number
        lastReceivedHash = SHA256.hash(message)
        return integrity
    }
}
