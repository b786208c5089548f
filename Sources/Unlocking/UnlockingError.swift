import Base
import Cryptography
import KeySlots
import Keyring
import Posix
import Store

/// A folder of encrypted databases that could not be unlocked, made or encrypted.
public typealias UnlockingError = CodedError<UnlockingErrorCode>

public enum UnlockingErrorCode: Hashable, Sendable {
    /// No way to unlock can be gone here: nobody can be asked, nothing was handed over.
    case noWay
    /// What was handed over or typed does not open it.
    case wrongSecret
    /// Two passphrases that should be the same, or no answer.
    case unconfirmed
    /// `cause` is a `KeyringError`.
    case keyring
    /// The file of wrapped keys: missing, damaged, of a newer version; `cause` is a `KeySlotsError`.
    case keys
    /// Some process uses the folder, or changes its keys.
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

    /// Whether the next attempt needs somebody: the user left the keyring locked, or no way that there is opens it. Who
    /// starts by itself would ask the same question again. A keyring that is not there may come.
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
