import Base

/// ERR: the error of a server.
public enum ServerError: Error, Hashable {
    /// AUTH: a wrong key, a missing queue, or a queue without new messages. The server does not distinguish these.
    case authorization
    case block
    case session
    case command(Command)
    /// QUOTA: the queue is full until its recipient has taken all its messages.
    case quota
    /// NO_MSG: the acknowledged message is not the delivered one.
    case noMessage
    case largeMessage
    case blocked(reason: String)
    case expired
    case cryptography
    case service
    case store
    case internalError
    /// PROXY: an error of a proxy or of the server behind it.
    case proxy(String)
    /// An error of a later version.
    case other(String)

    /// CMD: the fault of a command.
    public enum Command: String, Hashable, Sendable, CaseIterable {
        case unknown = "UNKNOWN"
        case syntax = "SYNTAX"
        case prohibited = "PROHIBITED"
        case noAuthorization = "NO_AUTH"
        case hasAuthorization = "HAS_AUTH"
        case noEntity = "NO_ENTITY"
    }

    private static let words: [(error: ServerError, word: String)] = [
        (.authorization, "AUTH"), (.block, "BLOCK"), (.session, "SESSION"), (.quota, "QUOTA"),
        (.noMessage, "NO_MSG"),
        (.largeMessage, "LARGE_MSG"), (.expired, "EXPIRED"), (.cryptography, "CRYPTO"), (.service, "SERVICE"),
        (.internalError, "INTERNAL"),
    ]
    private static let longest = 200

    /// The error on the wire.
    public var text: String {
        switch self {
        case .command(let command): "CMD \(command.rawValue)"
        case .blocked(let reason): "BLOCKED \(reason)"
        case .proxy(let reason): "PROXY \(reason)"
        case .store: "STORE"
        case .other(let text): text
        default: Self.words.first { $0.error == self }?.word ?? "INTERNAL"
        }
    }

    /// Reads the bytes after `ERR `.
    public init(_ bytes: [UInt8]) {
        // Shown to users, so only short printable ASCII.
        let printable = bytes.prefix(Self.longest).map { (32..<127).contains($0) ? $0 : UInt8(ascii: "?") }
        let text = String(decoding: printable, as: UTF8.self)
        let (word, detail) = text.splitAtSpace()
        if let known = Self.words.first(where: { $0.word == text }) {
            self = known.error
        } else if word == "CMD", let command = Command(rawValue: detail) {
            self = .command(command)
        } else if word == "BLOCKED" {
            self = .blocked(reason: detail)
        } else if word == "PROXY" {
            self = .proxy(detail)
        } else if word == "STORE" {
            // The server's disk details are for its operator only.
            self = .store
        } else {
            self = .other(text)
        }
    }

    /// Whether the same request may succeed later without a change.
    public var isTemporary: Bool {
        switch self {
        case .session, .quota, .store, .internalError, .proxy: true
        default: false
        }
    }

    var sentence: String {
        switch self {
        case .authorization: "The messaging server does not know this queue, or not this key."
        case .quota: "The contact's queue is full; it takes more when the contact has been online."
        case .blocked(let reason): "The messaging server has blocked this queue (\(reason))."
        case .noMessage, .largeMessage, .expired, .block, .session, .command, .cryptography, .service, .store,
            .internalError, .proxy, .other:
            "The messaging server refused: \(text)."
        }
    }
}

extension String {
    fileprivate func splitAtSpace() -> (String, String) {
        guard let space = firstIndex(of: " ") else { return (self, "") }
        return (String(self[..<space]), String(self[index(after: space)...]))
    }
}
