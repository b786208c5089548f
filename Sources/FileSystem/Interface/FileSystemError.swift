import Base
import ChatCore
import Glibc
import Namespace
import Outbox
import Posix

/// A refusal: an errno for the caller and, where it helps, a sentence for the user (`user.chatfs.error`, the log).
/// `docs/reference/filesystem.md` lists the errors by cause.
public struct FileSystemError: DescribedError, Equatable {
    public let code: Int32
    /// True if something failed, here or elsewhere; false if the request itself was invalid.
    public let isFailure: Bool
    /// True if the log has the failure already.
    public let isLogged: Bool
    public let cause: (any Error)?
    /// Makes the mount accept the request; nil if nothing does.
    let permission: Permission?
    private let words: String?

    public init(
        _ code: Int32, _ sentence: String? = nil, isFailure: Bool = false, isLogged: Bool = false,
        cause: (any Error)? = nil, permission: Permission? = nil
    ) {
        self.code = code
        self.isFailure = isFailure
        self.isLogged = isLogged
        self.cause = cause
        self.permission = permission
        words = sentence
    }

    public var sentence: String { words ?? String(cString: strerror(code)) }
    /// The sentence beyond the errno's text; nil if there is none.
    var ownSentence: String? { words }

    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    static let notFound = FileSystemError(ENOENT)
    /// The node is gone. ESTALE makes the kernel look up the name again and retry.
    static let gone = FileSystemError(ESTALE)
    static let notPermitted = FileSystemError(EPERM)
    static let isFolder = FileSystemError(EISDIR)
    static let noAttribute = FileSystemError(ENODATA)
    static let notSupported = FileSystemError(EOPNOTSUPP)
    static let badHandle = FileSystemError(EBADF)
}

extension FileSystemError {
    /// Creates the error for a file that cannot be read or sent.
    public init(_ problem: FileProblem) {
        self.init(
            Self.code(of: problem.kind), problem.sentence, isFailure: true, isLogged: problem.isLogged)
    }

    static func code(of kind: FileProblem.Kind) -> Int32 {
        switch kind {
        case .notApproved, .blocked: EACCES
        case .expired, .neverUploaded, .cancelledBySender: ENODATA
        case .damaged: EBADMSG
        case .timedOut: ETIMEDOUT
        case .unreachable, .noRelay: EHOSTUNREACH
        case .noSpace, .relayFull: ENOSPC
        case .tooLarge: EFBIG
        case .other: EIO
        }
    }

    /// Maps an error of the core, the index, the outbox or the system.
    public init(_ error: any Error) {
        switch error {
        case let error as FileSystemError: self = error
        case let error as ChatError: self.init(error, Self.code(of: error.code), error.code.isFailure)
        case let error as NamespaceError: self.init(error, Self.code(of: error.code), error.code.isFailure)
        case let error as OutboxError: self.init(error, Self.code(of: error.code), error.code.isFailure)
        case let error as SystemError: self.init(error, error.code, true)
        default: self.init(EIO, Base.sentence(of: error), isFailure: true)
        }
    }

    private init(_ error: some DescribedError, _ code: Int32, _ isFailure: Bool) {
        self.init(code, error.sentence, isFailure: isFailure, cause: error.cause)
    }

    private static func code(of code: ChatErrorCode) -> Int32 {
        switch code {
        case .sendingRefused, .sendingUnsure: EACCES
        case .tooLarge: EFBIG
        case .sendingUndecided: self.code(of: .unreachable)
        case .file(let kind): self.code(of: kind)
        case .noSuchChat, .noSuchItem, .noSuchFile, .noSuchProfile: ENOENT
        case .alreadyReceiving, .profileInUse: EBUSY
        case .nameTaken: EEXIST
        case .invalidCommand: EPERM
        case .wrongVersion, .storage, .internalError: EIO
        }
    }

    private static func code(of code: NamespaceErrorCode) -> Int32 {
        switch code {
        case .nameTaken: EEXIST
        case .noSuchNode: ENOENT
        case .diskFull: ENOSPC
        case .damaged, .storage: EIO
        }
    }

    private static func code(of code: OutboxErrorCode) -> Int32 {
        switch code {
        case .tooLarge: EFBIG
        case .noSpace: ENOSPC
        case .notPermitted: EPERM
        case .invalidName: EILSEQ
        case .nameTooLong: ENAMETOOLONG
        case .nameTaken: EEXIST
        case .damaged: EBADMSG
        case .gone: ESTALE
        case .shuttingDown: ESHUTDOWN
        case .wrongVersion, .storage: EIO
        }
    }
}

extension ChatErrorCode {
    fileprivate var isFailure: Bool {
        switch self {
        case .file, .sendingUndecided, .wrongVersion, .storage, .internalError: true
        case .sendingRefused, .sendingUnsure, .tooLarge, .noSuchChat, .noSuchItem, .noSuchFile,
            .noSuchProfile,
            .alreadyReceiving, .profileInUse, .nameTaken, .invalidCommand:
            false
        }
    }
}

extension NamespaceErrorCode {
    fileprivate var isFailure: Bool {
        switch self {
        case .nameTaken, .noSuchNode: false
        case .diskFull, .damaged, .storage: true
        }
    }
}

extension OutboxErrorCode {
    fileprivate var isFailure: Bool {
        switch self {
        case .tooLarge, .notPermitted, .invalidName, .nameTooLong, .nameTaken, .gone, .shuttingDown: false
        case .noSpace, .damaged, .wrongVersion, .storage: true
        }
    }
}
