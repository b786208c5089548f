import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

extension FileProblem {
    /// The problem that readers get for an error (`docs/reference/filesystem.md`).
    init(_ error: any Error) {
        switch error {
        case let error as HydrationError where error.code == .damaged:
            self.init(.damaged, error.sentence)
        case let error as XFTPError:
            self.init(Self.kind(of: error), error.sentence)
        case let error as ChatError:
            self.init(Self.kind(of: error), error.sentence)
        case let error as CryptographyError:
            self.init(Self.kind(of: error), error.sentence)
        case let error as SystemError:
            self.init(error.isFullDisk ? .noSpace : .other, error.sentence)
        default:
            self.init(.other, Base.sentence(of: error))
        }
    }

    private static func kind(of error: XFTPError) -> Kind {
        switch error.code {
        case .malformedDescription, .damaged, .tooLarge: .damaged
        case .relay(.authorization): .expired
        case .relay(.noFile): .neverUploaded
        case .relay(.blocked): .blocked
        case .relay(.quota): .relayFull
        case .relay(.timeout), .timedOut: .timedOut
        case .relayNotAllowed: .notApproved
        case .noRelay: .noRelay
        case .relay, .unreachable, .wrongIdentity, .protocolViolation: .unreachable
        case .storage, .source: isFullDisk(error.cause) ? .noSpace : .other
        case .wrongState, .cancelled: .other
        }
    }

    private static func kind(of error: ChatError) -> Kind {
        switch error.code {
        case .file(let kind): kind
        case .noSuchFile, .noSuchItem, .noSuchChat: .expired
        case .tooLarge: .tooLarge
        default: isFullDisk(error.cause) ? .noSpace : .other
        }
    }

    private static func kind(of error: CryptographyError) -> Kind {
        switch error.code {
        case .notAuthentic, .tooShort, .invalidKey: .damaged
        default: isFullDisk(error) ? .noSpace : .other
        }
    }

    private static func isFullDisk(_ error: (any Error)?) -> Bool {
        var next = error
        while let error = next {
            if let error = error as? SystemError { return error.isFullDisk }
            next = (error as? any DescribedError)?.cause
        }
        return false
    }
}

extension FileProblem {
    static let deleted = FileProblem(
        .cancelledBySender, "The message was deleted; only what had been read before is still here.")
    static let timedOut = FileProblem(
        .timedOut, "The relay did not send this part in time. It is still being tried; read again.")
    static let notUploadedInTime = FileProblem(
        .timedOut, "Its sender has not uploaded it yet, or could not: there was nothing to receive in time.")
    static let notSentInTime = FileProblem(
        .timedOut,
        "Only its sender has this file, and was asked for it: it comes when their program is online.")
    static let cancelledHere = FileProblem(.other, "Receiving it was cancelled on this machine.")
    static let leaving = FileProblem(.unreachable, "The mount is being left.")
    static let noCopy = FileProblem(.other, "The core keeps no copy of this file.")
    static let wrongLength = FileProblem(
        .damaged, "The file has another length than its message says; nothing of it is shown.")
}
