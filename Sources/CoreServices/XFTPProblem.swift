import ChatCore
import XFTP

extension FileProblem.Kind {
    /// Maps an error of a relay or of its connection to the problem of a file that a core or a command transfers
    /// itself. For readers, `Hydration` decides.
    public init(_ code: XFTPErrorCode) {
        self =
            switch code {
            case .malformedDescription, .damaged: .damaged
            case .relay(.authorization): .expired
            case .relay(.noFile): .neverUploaded
            case .relay(.blocked): .blocked
            case .relay(.quota): .relayFull
            case .timedOut, .relay(.timeout): .timedOut
            case .relay, .unreachable, .wrongIdentity, .protocolViolation: .unreachable
            case .relayNotAllowed: .notApproved
            case .noRelay: .noRelay
            case .tooLarge: .tooLarge
            case .source, .storage, .wrongState, .cancelled: .other
            }
    }
}
