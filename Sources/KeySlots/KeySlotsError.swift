import Base
import Posix

/// An error of a key slot file or of unlocking.
public typealias KeySlotsError = CodedError<KeySlotsErrorCode>

public enum KeySlotsErrorCode: Hashable, Sendable {
    /// The file is no key slot file.
    case notKeySlots
    /// The file is damaged or truncated.
    case damaged
    /// The file was written by a later version of the program.
    case newerVersion
    /// The passphrase, code or key opens no slot.
    case wrongSecret
    /// No slot exists for this kind of secret.
    case noSuchWay
    /// A recovery code has a wrong length or was mistyped.
    case mistypedCode
    /// A passphrase or key is empty or too long.
    case unsuitableSecret
    /// There are too many slots, or only one is left.
    case slots
    /// The file does not exist.
    case missing
    /// The file exists already.
    case exists
    /// Another process is changing the file.
    case busy
    /// A system call failed; `cause` is a `SystemError`.
    case file
    /// Too little memory; `cause` is a `CryptographyError`.
    case memory
}

extension KeySlotsError {
    init(_ error: SystemError) { self.init(.file, error.sentence, cause: error) }

    static let damaged = KeySlotsError(
        .damaged,
        "The file with the wrapped keys is damaged; restore it from a backup. Without it the data cannot be unlocked."
    )
}
