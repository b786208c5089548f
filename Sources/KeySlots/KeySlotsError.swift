import Base
import Posix

/// A file of key slots, or a way to unlock, that does not do.
public typealias KeySlotsError = CodedError<KeySlotsErrorCode>

public enum KeySlotsErrorCode: Hashable, Sendable {
    /// The file is something else.
    case notKeySlots
    /// It is damaged, or cut short.
    case damaged
    /// Written by a later version of the program.
    case newerVersion
    /// The passphrase, code or key opens no slot.
    case wrongSecret
    /// There is no slot for this way to unlock.
    case noSuchWay
    /// A recovery code that cannot be one: a letter too many, or mistyped.
    case mistypedCode
    /// A passphrase or key that is empty or too long.
    case unsuitableSecret
    /// Too many slots, or the last one.
    case slots
    /// There is no file of that name.
    case missing
    /// There is one already.
    case exists
    /// Another process is changing it.
    case busy
    /// The system refused to read or write; `cause` is a `SystemError`.
    case file
    /// `cause` is a `CryptographyError`.
    case memory
}

extension KeySlotsError {
    init(_ error: SystemError) { self.init(.file, error.sentence, cause: error) }

    static let damaged = KeySlotsError(
        .damaged,
        "The file with the wrapped keys is damaged: restore it from a backup. Without it the data cannot be unlocked."
    )
}
