import Base
import Cryptography

/// A double ratchet with encrypted headers, as SimpleX does it: what one side of a connection knows. A value, which
/// changes by encrypting and decrypting, and in nothing when that fails.
///
/// Between two steps it is meant to be stored (`encoded`), before what was encrypted is sent and before what was
/// decrypted is acknowledged: a state that is used twice gives the same key to two messages.
///
/// In memory all its secrets are wiped when they have been used. Where a state is stored, the keys of messages to come
/// and of those that are missing lie in it, so that has to be sealed and overwritten in place, and a copy of it (a
/// backup) opens what comes until both sides have answered once.
public struct Ratchet: Sendable {
    /// The version in which messages are written. It rises when the other side knows a higher one, and never falls.
    public internal(set) var version: UInt16
    /// The highest version that this side says it knows.
    let maxVersion: UInt16
    /// Whether there is space for a KEM in what is sent (`MessageSize`): for the life of the ratchet.
    public let supportsPostQuantum: Bool
    /// Whether the KEM is to be used where the other side does too.
    public var wantsPostQuantum: Bool
    let associatedData: [UInt8]
    var own: X448Key
    var root: WipedBytes
    var sending: SendingChain?
    var receiving: OpenChain?
    var nextSendingHeaderKey: WipedBytes
    var nextReceivingHeaderKey: WipedBytes
    /// Messages of the previous sending chain.
    var previousCount: UInt32 = 0
    var postQuantum = PostQuantumState()
    /// Chains that the other side has left, the newest last.
    var retired: [ReceivingChain] = []

    struct SendingChain: Sendable {
        let headerKey: WipedBytes
        var key: WipedBytes
        var next: UInt32 = 0
    }

    /// The chain that the other side sends in at present.
    struct OpenChain: Sendable {
        var chain: ReceivingChain
        var key: WipedBytes
    }

    /// Which of the steps that are in use had a secret of the KEM in them, and what comes next of it.
    struct PostQuantumState: Sendable {
        var protectsSending = false
        var protectsReceiving = false
        /// What the headers of the present sending chain offer.
        var own: KEMKey?
        /// Encapsulated to the other side's key; nil where `own` is proposed. Never without `own`.
        var ciphertext: [UInt8]?

        var offer: KEMOffer? {
            guard let own else { return nil }
            guard let ciphertext else { return .proposed(key: own.publicKey) }
            return .accepted(ciphertext: ciphertext, key: own.publicKey)
        }
    }

    /// SHA-256 of the keys with which both sides began: the same on both when nobody is in between. 32 bytes.
    public var securityHash: [UInt8] { SHA256.hash(associatedData) }

    /// Whether anything can be sent yet.
    public var canSend: Bool { sending != nil }

    /// Whether what is sent, and what was received last, is protected by the KEM too.
    public var isPostQuantum: (sending: Bool, receiving: Bool) {
        (postQuantum.protectsSending, postQuantum.protectsReceiving)
    }
}

/// What a ratchet needs besides its state.
public struct RatchetTools: Sendable {
    /// Fresh keys.
    public var random: any RandomSource
    /// nil where it is not installed.
    public var kem: (any KEM)?

    public init(random: any RandomSource = SystemRandomSource(), kem: (any KEM)? = nil) {
        self.random = random
        self.kem = kem
    }
}

/// Bytes that messages are padded to, so that nobody sees how long they are.
public enum MessageSize {
    /// The first message of each side.
    public static func confirmation(_ ratchet: Ratchet) -> Int { ratchet.hasRoomForKEM ? 11_106 : 14_832 }
    /// Every later one.
    public static func message(_ ratchet: Ratchet) -> Int { ratchet.hasRoomForKEM ? 13_618 : 15_840 }
}

extension Ratchet {
    var hasRoomForKEM: Bool { supportsPostQuantum && version >= RatchetVersion.withKEM }
}
