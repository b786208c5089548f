import Base

/// The words with which a relay refuses (XFTP protocol, "Error responses").
public enum XFTPProtocolError: Error, Hashable, Sendable {
    /// Why a command as such is wrong.
    public enum Command: String, Hashable, Sendable, CaseIterable {
        case unknown = "UNKNOWN"
        case syntax = "SYNTAX"
        case prohibited = "PROHIBITED"
        case noSignature = "NO_AUTH"
        case hasSignature = "HAS_AUTH"
        case noEntity = "NO_ENTITY"
    }

    /// BLOCK: no block, or not one transmission in it.
    case block
    /// SESSION: not the session of this connection.
    case session
    /// HANDSHAKE
    case handshake
    /// CMD and which.
    case command(Command)
    /// AUTH: wrong signature or password, or an ID that is unknown, expired or deleted.
    case authorization
    /// BLOCKED: by moderation; the text as the relay gives it (`reason=spam`).
    case blocked(reason: String)
    /// SIZE: the relay does not take chunks of this size.
    case size
    /// QUOTA: the relay is full.
    case quota
    /// DIGEST: the uploaded bytes are others than announced.
    case digest
    /// CRYPTO
    case cryptography
    /// NO_FILE: the record is there, the bytes never came.
    case noFile
    /// HAS_FILE
    case hasFile
    /// FILE_IO: the relay's disk, or an upload that took too long.
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

    /// The word on the wire.
    public var text: String {
        switch self {
        case .command(let command): "CMD \(command.rawValue)"
        case .blocked(let reason): "BLOCKED \(reason)"
        default: Self.words.first { $0.error == self }?.word ?? "INTERNAL"
        }
    }

    /// Reads the word of a relay, or nil when it is none we know.
    public init?(text: some StringProtocol) {
        if let known = Self.words.first(where: { $0.word == text }) {
            self = known.error
        } else if text.hasPrefix("CMD "), let command = Command(rawValue: String(text.dropFirst(4))) {
            self = .command(command)
        } else if text == "BLOCKED" {
            self = .blocked(reason: "")
        } else if text.hasPrefix("BLOCKED ") {
            // From outside and shown to people: nothing but short printable ASCII.
            let reason = text.dropFirst(8).unicodeScalars.prefix(200).map { scalar in
                (32..<127).contains(scalar.value) ? Character(scalar) : "?"
            }
            self = .blocked(reason: String(reason))
        } else {
            return nil
        }
    }

    /// Whether trying again later can help. QUOTA may be freed, but not by a short wait: final.
    public var isTemporary: Bool {
        switch self {
        case .timeout, .internalError, .fileIO, .session: true
        default: false
        }
    }
}
