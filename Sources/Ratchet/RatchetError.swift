import Base
import Cryptography

/// A message that a ratchet refuses, or keys and states that are none.
public typealias RatchetError = CodedError<RatchetErrorCode>

/// By what the caller does about it. After every one of them the ratchet is what it was before.
public enum RatchetErrorCode: Hashable, Sendable {
    /// The bytes are no message of a ratchet: nothing of them was tried.
    case malformed
    /// No header key opens it: the message is of another ratchet, of one that went another way (a restored backup),
    /// or older than anything that is kept. The connection needs to be synchronised anew when others arrive too.
    case headerNotAuthentic
    /// The header is right and the body is not.
    case bodyNotAuthentic
    /// This message was decrypted before.
    case repeated
    /// Its key was kept for a while and is gone, by the limits of `SkippedKeys`.
    case tooOld
    /// So many messages in between are missing that their keys would not be kept.
    case tooManySkipped
    /// A version below 2 or above that of this program.
    case unsupportedVersion
    /// A key of small order, or of the wrong length.
    case invalidKey
    /// Nothing can be sent before the first message has come: there is no chain for it.
    case notReady
    /// The message does not fit into its padding.
    case tooLong
    /// A chain has sent as many messages as can be numbered.
    case exhausted
    /// The other side uses the post-quantum KEM, and it is not installed here (any more).
    case kemUnavailable
    /// libgcrypt or OpenSSL failed at something that cannot fail with valid arguments: no key is to blame.
    case library
    /// Stored bytes that are no state of a ratchet, or of a later version.
    case invalidState
}

extension RatchetError {
    static let malformed = RatchetError(.malformed, "The encrypted message is malformed.")
    static let invalidState = RatchetError(
        .invalidState, "The stored state of an encrypted connection is damaged or of a later version.")
    static let kemUnavailable = RatchetError(
        .kemUnavailable,
        "The contact uses post-quantum encryption, for which libgcrypt 1.11 or later must be installed.")

    /// What a refused agreement means here.
    static func agreement(_ error: CryptographyError) -> RatchetError {
        guard error.code != .library else {
            return RatchetError(
                .library, "An encrypted connection has no key: \(error.sentence)", cause: error)
        }
        return RatchetError(.invalidKey, "The contact's key is unusable.", cause: error)
    }
}
