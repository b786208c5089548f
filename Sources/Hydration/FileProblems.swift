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
            self.init(Self.kind(of: error), error.sentence, cause: error.cause)
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
        case .storage, .source: isFullDisk(error) ? .noSpace : .other
        case .wrongState, .cancelled: .other
        }
    }

    private static func kind(of error: ChatError) -> Kind {
        switch error.code {
        case .file(let kind): kind
        case .noSuchFile, .noSuchItem, .noSuchChat: .expired
        case .tooLarge: .tooLarge
        default: isFullDisk(error) ? .noSpace : .other
        }
    }

    private static func kind(of error: CryptographyError) -> Kind {
        switch error.code {
        case .notAuthentic, .tooShort, .invalidKey: .damaged
        default: isFullDisk(error) ? .noSpace : .other
        }
    }

    private static func isFullDisk(_ error: any Error) -> Bool {
        error.nearest(SystemError.self)?.isFullDisk == true
    }
}

extension FileProblem {
    static let deleted = FileProblem(
        .cancelledBySender, "The message was deleted; only the parts read before are still available.")
    static let timedOut = FileProblem(
        .timedOut, "The relay did not send this part in time. ChatFS keeps trying; read again.")
    static let notUploadedInTime = FileProblem(
        .timedOut, "The sender has not uploaded this file yet, or the upload failed. Read again later.")
    static let notSentInTime = FileProblem(
        .timedOut,
        "Only the sender has this file. ChatFS requested it; it arrives when their program is online.")
    static let cancelledHere = FileProblem(.other, "Receiving this file was cancelled on this machine.")
    static let leaving = FileProblem(.unreachable, "ChatFS is unmounting.")
    static let noCopy = FileProblem(.other, "The core has no copy of this file.")
    static let wrongLength = FileProblem(
        .damaged, "The file's length differs from its message, so its content is not shown.")
}
