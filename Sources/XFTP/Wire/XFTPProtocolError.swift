import Base

/// The errors of a relay (XFTP protocol, "Error responses").
public enum XFTPProtocolError: Error, Hashable, Sendable {
    /// The errors of a command's form.
    public enum Command: String, Hashable, Sendable, CaseIterable {
        case unknown = "UNKNOWN"
        case syntax = "SYNTAX"
        case prohibited = "PROHIBITED"
        case noSignature = "NO_AUTH"
        case hasSignature = "HAS_AUTH"
        case noEntity = "NO_ENTITY"
    }

    /// BLOCK: the bytes are no block, or hold no single transmission.
    case block
    /// SESSION: the session is not that of this connection.
    case session
    /// HANDSHAKE
    case handshake
    /// CMD with the reason.
    case command(Command)
    /// AUTH: wrong signature or password, or an unknown, expired or deleted ID.
    case authorization
    /// BLOCKED: by moderation, with the relay's text (`reason=spam`).
    case blocked(reason: String)
    /// SIZE: the relay does not accept chunks of this size.
    case size
    /// QUOTA: the relay is full.
    case quota
    /// DIGEST: the uploaded bytes differ from the announced digest.
    case digest
    /// CRYPTO
    case cryptography
    /// NO_FILE: the record exists without bytes.
    case noFile
    /// HAS_FILE
    case hasFile
    /// FILE_IO: a disk error of the relay, or an upload that took too long.
    case fileIO
    /// TIMEOUT
    case timeout
    /// INTERNAL
    case internalError

    private static let words: [(word: String, error: XFTPProtocolError)] = [
        ("BLOCK", .block), ("SESSION", .session), ("HANDSHAKE", .handshake), ("AUTH", .authorization),
        ("SIZE", .size), ("QUOTA", .quota), ("DIGEST", .digest), ("CRYPTO", .cryptography),
        ("NO_FILE", .noFile), ("HAS_FILE", .hasFile), ("FILE_IO", .fileIO), ("TIMEOUT", .timeout),
        ("INTERNAL", .internalError),
    ]

    /// The error on the wire.
    public var text: String {
        switch self {
        case .command(let command): "CMD \(command.rawValue)"
        case .blocked(let reason): "BLOCKED \(reason)"
        default: Self.words.first { $0.error == self }?.word ?? "INTERNAL"
        }
    }

    /// Decodes a relay's error. Returns nil if it is unknown.
    public init?(text: some StringProtocol) {
        if let known = Self.words.first(where: { $0.word == text }) {
            self = known.error
        } else if text.hasPrefix("CMD "), let command = Command(rawValue: String(text.dropFirst(4))) {
            self = .command(command)
        } else if text == "BLOCKED" {
            self = .blocked(reason: "")
        } else if text.hasPrefix("BLOCKED ") {
            // The text comes from a stranger and is shown to users, so keep only short printable ASCII.
            let reason = text.dropFirst(8).unicodeScalars.prefix(200).map { scalar in
                (32..<127).contains(scalar.value) ? Character(scalar) : "?"
            }
            self = .blocked(reason: String(reason))
        } else {
            return nil
        }
    }

    /// Whether a retry may help. QUOTA counts as permanent, because a short delay does not help.
    public var isTemporary: Bool {
        switch self {
        case .timeout, .internalError, .fileIO, .session: true
        default: false
        }
    }
}
