import Base
import Cryptography
import KeySlots
import Keyring
import Posix
import Store

/// An encrypted folder could not be unlocked, created or encrypted.
public typealias UnlockingError = CodedError<UnlockingErrorCode>

public enum UnlockingErrorCode: Hashable, Sendable {
    /// No way is available: no prompt is possible, and no secret was given.
    case noWay
    /// The given secret is wrong.
    case wrongSecret
    /// Two passphrases differ, or there was no answer.
    case unconfirmed
    /// `cause` is a `KeyringError`.
    case keyring
    /// The file of wrapped keys is missing, damaged or newer; `cause` is a `KeySlotsError`.
    case keys
    /// A process uses the folder or changes its keys.
    case busy
    case diskFull
    /// A database; `cause` is a `StoreError`.
    case database
    /// `cause` is a `SystemError`.
    case file
}

extension UnlockingError {
    init(_ error: KeySlotsError) {
        let code: Code =
            switch error.code {
            case .wrongSecret, .noSuchWay, .mistypedCode, .unsuitableSecret: .wrongSecret
            case .busy: .busy
            case .file: (error.cause as? SystemError)?.isFullDisk == true ? .diskFull : .file
            case .memory: .file
            case .notKeySlots, .damaged, .newerVersion, .slots, .missing, .exists: .keys
            }
        self.init(code, error.sentence, cause: error)
    }

    /// Whether a retry needs the user: the keyring stayed locked, or every way failed. An automatic restart would only
    /// repeat the question. A missing keyring may appear later.
    public var needsSomebody: Bool {
        switch code {
        case .noWay, .wrongSecret, .unconfirmed: true
        case .keyring:
            switch cause {
            case let keyring as KeyringError: keyring.code == .locked
            case let beneath as UnlockingError: beneath.needsSomebody
            default: false
            }
        case .keys, .busy, .diskFull, .database, .file: false
        }
    }

    init(_ error: KeyringError) { self.init(.keyring, error.sentence, cause: error) }
    init(_ error: SystemError) {
        self.init(error.isFullDisk ? .diskFull : .file, error.sentence, cause: error)
    }
    init(_ error: StoreError) {
        self.init(error.code == .diskFull ? .diskFull : .database, error.sentence, cause: error)
    }
}
