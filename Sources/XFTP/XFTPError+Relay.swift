import Base
import Network

extension RelayAddress {
    /// The relay's name in errors: the host, and the port if it is not 443.
    public var name: String { port == Self.defaultPort ? hosts[0] : "\(hosts[0]):\(port)" }
}

extension XFTPError {
    static let cancelled = XFTPError(.cancelled, "The transfer was cancelled.")

    static func brokenProtocol(_ problem: String, _ relay: RelayAddress? = nil) -> XFTPError {
        XFTPError(.protocolViolation, "The relay \(relay.map { $0.name + " " } ?? "")\(problem).")
    }

    /// Maps a network error to an error of a transfer.
    init(_ error: NetworkError, relay: RelayAddress) {
        // Errors of our own sinks and sources are more specific.
        if error.code == .body, let inner = error.cause as? XFTPError {
            self = inner
            return
        }
        let code: Code =
            switch error.code {
            case .nameNotFound, .unreachable, .closed, .exhausted: .unreachable
            case .timeout: .timedOut
            case .cancelled: .cancelled
            case .identity: .wrongIdentity
            case .notAllowed: .relayNotAllowed
            case .handshake, .protocolViolation, .body, .configuration: .protocolViolation
            }
        let words =
            switch error.code {
            // A local limit, not a failure of the relay.
            case .exhausted: "No connection to the relay \(relay.name) can be made on this machine: "
            default: "The relay \(relay.name) failed: "
            }
        self.init(code, words + error.sentence, cause: error)
    }

    /// Maps a relay's error to its meaning for the file.
    static func refused(_ error: XFTPProtocolError, by relay: RelayAddress) -> XFTPError {
        let problem =
            switch error {
            case .authorization: "does not have the chunk any more, or never had it: expired or deleted"
            case .noFile: "never got the chunk: its upload was not finished"
            case .blocked(let reason):
                "blocked the file by moderation" + (reason.isEmpty ? "" : " (\(reason))")
            case .quota: "is full"
            case .size: "does not take chunks of this size"
            case .digest: "got other bytes than were announced"
            case .fileIO: "could not read or write its disk, or the upload took too long"
            case .timeout: "took too long"
            default: "refused with \(error.text)"
            }
        return XFTPError(.relay(error), "The relay \(relay.name) \(problem).", cause: error)
    }
}
