import Base
import Cryptography
import SMP

/// A queue of the peer that this side sends to, with this side's keys.
struct SendingQueue: Hashable, Sendable {
    enum Use: String, Hashable, Sendable, CaseIterable {
        /// A contact address, for one unsigned request.
        case request
        case present
        /// Announced by a rotation (`QA`); unused until the peer's `QU`.
        case next
    }

    var address: QueueAddress
    /// Agreed SMP client version of this queue.
    var version: UInt16
    var use: Use
    /// Seed of the Ed25519 key that secures the queue.
    var authorizationSeed: [UInt8]
    /// X25519 key of the box between sender and recipient.
    var queueKey: [UInt8]
    /// Whether the server has this side's key.
    var isSecured: Bool
    /// Whether it refuses messages for good.
    var isGone = false
    /// Refusals that may still be temporary.
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

    /// Public half of `queueKey`.
    var publicKey: [UInt8] {
        get throws { try AgreementKey(rawValue: queueKey).publicKey }
    }

    /// False if the peer's key is of small order, which gives no shared secret.
    var hasUsableKey: Bool {
        (try? AgreementKey(rawValue: queueKey).wipedSecret(with: address.key)) != nil
    }

    /// Returns the body of `SEND`.
    /// - Parameter nonce: 24 bytes, the same for each retry of an envelope.
    func body(of envelope: [UInt8], isFirst: Bool, nonce: [UInt8]) throws -> [UInt8] {
        let secret = try AgreementKey(rawValue: queueKey).wipedSecret(with: address.key)
        return try QueueMessage(
            sealing: .init(envelope: envelope), version: version, senderKey: isFirst ? publicKey : nil,
            secret: secret, nonce: nonce
        ).encoded
    }
}
