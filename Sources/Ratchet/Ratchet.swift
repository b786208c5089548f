import Base
import Cryptography

/// One side's state of a double ratchet with header encryption, as SimpleX uses it. Comments give the names of the
/// specification, "The Double Ratchet Algorithm", section 4: RK, CKs, HKs and so on.
///
/// Encrypting and decrypting change the value only if they succeed. The caller stores the new state (`encoded`) before
/// it sends an encrypted message or acknowledges a decrypted one. A state used twice would encrypt two messages with
/// one key.
///
/// Secrets in memory are wiped after use. A stored state holds the keys of future and skipped messages, so its owner
/// seals it and overwrites it in place. A copy, such as a backup, decrypts later messages until both sides have
/// answered once.
public struct Ratchet: Sendable {
    /// The version of encrypted messages. Rises to the highest version of both sides and never falls.
    public internal(set) var version: UInt16
    /// The highest version that this side announces.
    let maxVersion: UInt16
    /// Whether sent messages reserve space for a KEM (`MessageSize`). Fixed for the life of the ratchet.
    public let supportsPostQuantum: Bool
    /// Whether to use the KEM if the peer uses it too.
    public var wantsPostQuantum: Bool
    /// AD.
    let associatedData: [UInt8]
    /// DHs: this side's ratchet key pair.
    var ratchetKey: X448Key
    /// RK, 32 bytes.
    var rootKey: WipedBytes
    /// nil until this side can send.
    var sending: SendingChain?
    /// nil until the first message arrives.
    var receiving: CurrentReceivingChain?
    /// NHKs, 32 bytes.
    var nextSendingHeaderKey: WipedBytes
    /// NHKr, 32 bytes.
    var nextReceivingHeaderKey: WipedBytes
    /// PN: the number of messages in the previous sending chain.
    var previousChainLength: UInt32 = 0
    var postQuantum = PostQuantumState()
    /// The peer's earlier chains with their skipped message keys (MKSKIPPED), the newest last.
    var previousChains: [ReceivingChain] = []

    struct SendingChain: Sendable {
        /// HKs, 32 bytes.
        let headerKey: WipedBytes
        /// CKs, 32 bytes.
        var chainKey: WipedBytes
        /// Ns: the number of the next message.
        var messageNumber: UInt32 = 0
    }

    /// The peer's current sending chain.
    struct CurrentReceivingChain: Sendable {
        var chain: ReceivingChain
        /// CKr, 32 bytes.
        var chainKey: WipedBytes
    }

    /// The KEM's part of the current chains.
    struct PostQuantumState: Sendable {
        /// Whether a KEM secret went into the root step of the sending chain.
        var protectsSending = false
        /// Whether a KEM secret went into the root step of the receiving chain.
        var protectsReceiving = false
        /// The key pair that headers of the sending chain offer.
        var own: KEMKey?
        /// A ciphertext for the peer's key, or nil if `own` is only proposed. Requires `own`.
        var ciphertext: [UInt8]?

        var offer: KEMOffer? {
            guard let own else { return nil }
            guard let ciphertext else { return .proposed(key: own.publicKey) }
            return .accepted(ciphertext: ciphertext, key: own.publicKey)
        }
    }

    /// The SHA-256 of both sides' first keys, 32 bytes. Differs between the sides if an attacker intercepted the keys.
    public var securityHash: [UInt8] { SHA256.hash(associatedData) }

    /// Whether a sending chain exists.
    public var canSend: Bool { sending != nil }

    /// Whether the KEM protects the sending chain and the receiving chain.
    public var isPostQuantum: (sending: Bool, receiving: Bool) {
        (postQuantum.protectsSending, postQuantum.protectsReceiving)
    }
}

/// The sources of keys that a ratchet uses.
public struct RatchetTools: Sendable {
    /// The source of X448 keys.
    public var random: any RandomSource
    /// nil if no KEM is installed.
    public var kem: (any KEM)?

    public init(random: any RandomSource = SystemRandomSource(), kem: (any KEM)? = nil) {
        self.random = random
        self.kem = kem
    }
}

/// The padded lengths of messages, in bytes. Padding hides their real length.
public enum MessageSize {
    /// The padded length of each side's first message.
    public static func confirmation(_ ratchet: Ratchet) -> Int { ratchet.hasRoomForKEM ? 11_106 : 14_832 }
    /// The padded length of later messages.
    public static func message(_ ratchet: Ratchet) -> Int { ratchet.hasRoomForKEM ? 13_618 : 15_840 }
}

extension Ratchet {
    var hasRoomForKEM: Bool { supportsPostQuantum && version >= RatchetVersion.withKEM }
}
