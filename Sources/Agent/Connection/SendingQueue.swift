import Base
import Cryptography
import SMP

/// A queue of the other side that this side sends to, with this side's keys for it.
struct SendingQueue: Hashable, Sendable {
    enum Use: String, Hashable, Sendable, CaseIterable {
        /// An address, for one request without authorisation.
        case request
        case present
        /// Announced by the other side, and not to be used before it says so.
        case next
    }

    var address: QueueAddress
    /// That both sides have agreed on for this queue.
    var version: UInt16
    var use: Use
    /// Of the Ed25519 key with which the queue is secured.
    var authorizationSeed: [UInt8]
    /// X25519, for the box between sender and recipient.
    var queueKey: [UInt8]
    /// Whether the server has this side's key.
    var isSecured: Bool
    /// Whether it takes nothing any more.
    var isGone = false
    /// While the server refuses what is sent, and nobody knows yet whether for good.
    var refusals = Refusals()

    static func fresh(
        _ address: QueueAddress, version: UInt16, use: Use, random: any RandomSource
    ) -> SendingQueue {
        SendingQueue(
            address: address, version: version, use: use, authorizationSeed: random.bytes(32),
            queueKey: random.bytes(32), isSecured: use == .request)
    }

    var authorization: SigningKey {
        get throws { try SigningKey(seed: authorizationSeed) }
    }

    /// This side's key for the box.
    var publicKey: [UInt8] {
        get throws { try AgreementKey(rawValue: queueKey).publicKey }
    }

    /// Whether the other side's key leads to a secret: one of small order does not.
    var hasUsableKey: Bool {
        (try? AgreementKey(rawValue: queueKey).wipedSecret(with: address.key)) != nil
    }

    /// The body of SEND.
    /// - Parameter nonce: 24 bytes, the same for the same envelope.
    func body(of envelope: [UInt8], isFirst: Bool, nonce: [UInt8]) throws -> [UInt8] {
        let secret = try AgreementKey(rawValue: queueKey).wipedSecret(with: address.key)
        return try QueueMessage(
            sealing: .init(envelope: envelope), version: version, senderKey: isFirst ? publicKey : nil,
            secret: secret, nonce: nonce
        ).encoded
    }
}
