import Base
import ChatCore
import Cryptography
import Posix
import Store

extension ChatError {
    public static let noSuchChat = ChatError(.noSuchChat, "This profile has no such chat.")
    public static let noSuchItem = ChatError(.noSuchItem, "The chat has no such message.")
    public static let noSuchFile = ChatError(.noSuchFile, "This profile has no such file.")

    /// Maps an error of a lower layer to the caller's.
    public init(wrapping error: any Error) {
        switch error {
        case let error as ChatError:
            self = error
        case let error as StoreError:
            switch error.code {
            case .wrongVersion: self.init(.wrongVersion, error.sentence, cause: error)
            case .diskFull: self.init(.file(.noSpace), error.sentence, cause: error)
            case .invalidStatement, .constraint: self.init(.internalError, error.sentence, cause: error)
            default: self.init(.storage, error.sentence, cause: error)
            }
        case let error as SystemError:
            self.init(Self.code(of: error), error.sentence, cause: error)
        case let error as CryptographyError:
            let code = error.systemError.map(Self.code(of:)) ?? .file(.damaged)
            self.init(code, error.sentence, cause: error)
        default:
            self.init(
                .internalError, "Unexpected error: \(Base.sentence(of: error))", cause: error)
        }
    }

    /// The failure for a file's row.
    public var fileProblemKind: FileProblem.Kind { if case .file(let kind) = code { kind } else { .other } }

    private static func code(of error: SystemError) -> Code {
        error.isFullDisk ? .file(.noSpace) : .storage
    }
}
