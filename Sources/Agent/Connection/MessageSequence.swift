import Cryptography

/// Message numbers and hashes of both directions, which reveal missing messages.
struct MessageSequence: Hashable, Sendable {
    /// 0 before the first message.
    private(set) var lastSent: Int64 = 0
    private(set) var lastSentHash: [UInt8] = []
    private(set) var lastReceived: Int64 = 0
    private(set) var lastReceivedHash: [UInt8] = []

    /// The number of the next message to send.
    var next: Int64 { lastSent + 1 }

    /// Counts a sent message and returns its hash.
    mutating func send(_ message: [UInt8]) -> [UInt8] {
        lastSent += 1
        lastSentHash = SHA256.hash(message)
        return lastSentHash
    }

    /// Skips to the peer's last received number, so that a restored state never reuses one.
    mutating func skip(to number: Int64) {
        // A number this far ahead cannot be one of ours.
        guard number > lastSent, number - lastSent < 1 << 32 else { return }
        lastSent = number
    }

    /// Counts the peer's first message, which carries no number.
    mutating func receiveFirst(_ message: [UInt8]) {
        lastReceived = 1
        lastReceivedHash = SHA256.hash(message)
    }

    /// Counts a received message and returns its place in the sequence.
    /// - Parameter isLate: whether it came from a queue that is being drained. Newer messages may have
    ///   arrived in the new queue; they stay the last, because the peer relies on that number when keys
    ///   change.
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
