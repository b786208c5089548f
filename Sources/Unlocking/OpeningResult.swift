import Base
import KeySlots
import Keyring
import Store

/// The result of opening encrypted data, in words for the user.
public struct OpeningResult: Sendable {
    public enum Kind: Hashable, Sendable {
        case ok
        /// Two passphrases differ, or a question has no answer.
        case invalidConfirmation
        case errorNotADatabase(NotADatabase)
        /// Another version wrote the data.
        case errorMigration
        case errorSQL
        /// No way to unlock was available.
        case errorKeychain
        case unknown
    }

    public enum NotADatabase: Hashable, Sendable {
        /// Encrypted with another key.
        case wrongKey
        /// Missing or not a database.
        case noDatabase
        case damaged
    }

    public let kind: Kind
    /// The state and the remedy.
    public let sentence: String

    /// - Parameter kind: The kind of the way that unlocked it, or nil if it is not encrypted.
    public static func ok(unlockedBy kind: KeySlot.Kind?) -> OpeningResult {
        let sentence =
            switch kind {
            case .passphrase: "This passphrase unlocks the data."
            case .recoveryCode: "This recovery code unlocks the data."
            case .key: "This key unlocks the data."
            case .keyring: "The keyring unlocks the data."
            case nil: "The data is not encrypted: nothing is needed to unlock it."
            }
        return OpeningResult(kind: .ok, sentence: sentence)
    }

    private init(kind: Kind, sentence: String) {
        self.kind = kind
        self.sentence = sentence
    }

    public init(_ error: any Error) {
        self.init(kind: Self.kind(of: error), sentence: Base.sentence(of: error))
    }

    /// By the error itself or its cause.
    private static func kind(of error: any Error) -> Kind {
        switch error {
        case let error as UnlockingError: kind(of: error)
        case let error as StoreError: kind(of: error.code)
        case is KeyringError: .errorKeychain
        default: (error as? any DescribedError)?.cause.map { kind(of: $0) } ?? .unknown
        }
    }

    private static func kind(of error: UnlockingError) -> Kind {
        switch error.code {
        case .unconfirmed: .invalidConfirmation
        case .wrongSecret: .errorNotADatabase(.wrongKey)
        case .noWay, .keyring: .errorKeychain
        case .keys:
            (error.cause as? KeySlotsError)?.code == .newerVersion
                ? .errorMigration : .errorNotADatabase(.damaged)
        case .database: (error.cause as? StoreError).map { kind(of: $0.code) } ?? .errorSQL
        case .busy, .diskFull, .file: .unknown
        }
    }

    private static func kind(of code: StoreError.Code) -> Kind {
        switch code {
        case .wrongVersion: .errorMigration
        case .wrongKey: .errorNotADatabase(.wrongKey)
        case .notADatabase, .encrypted, .notEncrypted: .errorNotADatabase(.noDatabase)
        case .damaged, .damagedPage: .errorNotADatabase(.damaged)
        case .diskFull, .busy, .noMemory, .tooManyFiles, .constraint, .notAllowed, .inputOutput,
            .invalidStatement:
            .errorSQL
        }
    }
}
