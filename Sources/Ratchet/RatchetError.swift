import Base
import Cryptography

/// An error of a ratchet, a key agreement or a stored state.
public typealias RatchetError = CodedError<RatchetErrorCode>

/// The errors, by the caller's reaction. None of them changes the ratchet.
public enum RatchetErrorCode: Hashable, Sendable {
    /// The bytes do not have the form of a message. No key was tried.
    case malformed
    /// No header key decrypts the header. The message belongs to another ratchet, to a state that diverged (a restored
    /// backup), or to a chain that was deleted. Repeated errors call for a resynchronization.
    case headerNotAuthentic
    /// The header is authentic and the body is not.
    case bodyNotAuthentic
    /// This message was decrypted before.
    case repeated
    /// The limits of `SkippedKeys` deleted the message's key.
    case tooOld
    /// More than `SkippedKeys.maxAhead` messages before this one are missing.
    case tooManySkipped
    /// The version is below 2 or above 3.
    case unsupportedVersion
    /// A key of small order, or of the wrong length.
    case invalidKey
    /// No sending chain exists before the first message arrives.
    case notReady
    /// The message is longer than its padded length allows.
    case tooLong
    /// The sending chain has used all message numbers.
    case exhausted
    /// The peer uses the KEM, and it is not installed.
    case kemUnavailable
    /// libgcrypt or OpenSSL failed with valid arguments. The keys are not the cause.
    case library
    /// The stored bytes are no state of a ratchet, or have a later format.
    case invalidState
}

extension RatchetError {
    static let malformed = RatchetError(.malformed, "The encrypted message is malformed.")
    static let invalidState = RatchetError(
        .invalidState,
        "Cannot read the stored state of an encrypted connection: it is damaged or has a later format.")
    static let kemUnavailable = RatchetError(
        .kemUnavailable,
        "The contact uses post-quantum encryption; install libgcrypt 1.11 or later.")

    /// Maps an error of a Diffie-Hellman agreement.
    static func agreement(_ error: CryptographyError) -> RatchetError {
        guard error.code != .library else {
            return RatchetError(
                .library, "Key agreement failed: \(error.sentence)", cause: error)
        }
        return RatchetError(.invalidKey, "The contact's key is unusable.", cause: error)
    }
}
