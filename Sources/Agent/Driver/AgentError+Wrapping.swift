import Base
import Ratchet
import SMP

extension AgentError {
    /// Converts an error of a lower layer for the caller.
    init(wrapping error: any Error) {
        switch error {
        case let error as AgentError: self = error
        case let error as RatchetError:
            self.init(Self.code(of: error.code), error.sentence, cause: error)
        case let error as SMPError: self.init(Self.code(of: error.code), error.sentence, cause: error)
        default:
            self.init(
                .store, "The stored connections could not be used: \(Base.sentence(of: error))", cause: error)
        }
    }

    private static func code(of code: RatchetErrorCode) -> AgentErrorCode {
        switch code {
        case .invalidState: .damaged
        // A local failure that may pass: `.store` errors are retried.
        case .library: .store
        default: .notPossible
        }
    }

    private static func code(of code: SMPErrorCode) -> AgentErrorCode {
        switch code {
        case .malformedLink, .unsupportedLink, .wrongLinkData: return .unusableLink
        case .tooLong: return .tooLong
        case .server(let error): return error.isTemporary ? .serverUnreachable : .serverRefused
        case .malformed, .notAuthentic: return .serverRefused
        default: return .serverUnreachable
        }
    }
}
