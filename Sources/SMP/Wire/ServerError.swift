import Base

/// A server's word for what it refuses.
public enum ServerError: Error, Hashable {
    /// The key is wrong, there is no such queue (any more), or it takes no messages: the server does not say which.
    case authorization
    case block
    case session
    case command(Command)
    /// The queue is full until its recipient has taken everything out of it.
    case quota
    /// What was acknowledged is not what is being delivered.
    case noMessage
    case largeMessage
    case blocked(reason: String)
    case expired
    case cryptography
    case service
    case store
    case internalError
    /// What a proxy says of itself or of the server behind it.
    case proxy(String)
    /// A word of a later version.
    case other(String)

    /// What was wrong with a command.
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

    /// The protocol's word.
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

    /// Reads what stands behind `ERR `, whatever it is.
    public init(_ bytes: [UInt8]) {
        // From outside and shown to people: nothing but short printable ASCII.
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
            // What the server says of its own disk is for its operator.
            self = .store
        } else {
            self = .other(text)
        }
    }

    /// Whether the same may succeed later, without anybody changing anything.
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
