import Base
import ChatCore
import Cryptography

/// Queries the terms for sending a file to a chat, before the file is staged.
struct SendingInquiry: ControlRequest {
    typealias Answer = SendingTerms

    /// The chat's name as the user typed it (`NamedChats`).
    var chat: String

    var method: ControlMethod { .sendingTerms }
}

/// The terms for sending a file to a chat.
public struct SendingTerms: Codable, Hashable, Sendable {
    /// The chat's reference.
    public var chat: String
    /// Maximum size in bytes; nil if unlimited.
    public var largest: UInt64?
    /// Directory for the staged CryptoFile.
    public var stagingFolder: String
    /// True if metadata must be removed from pictures; nil means no.
    public var removesMetadata: Bool?
    /// The key of `UnansweredRequests` in hexadecimal; nil if the data is not encrypted.
    public var markKey: String?

    public init(
        chat: String, largest: UInt64?, stagingFolder: String, removesMetadata: Bool? = nil,
        markKey: SecretBytes? = nil
    ) {
        self.chat = chat
        self.largest = largest
        self.stagingFolder = stagingFolder
        self.removesMetadata = removesMetadata
        self.markKey = markKey?.withUnsafeBytes { Hexadecimal.encode(Array($0)) }
    }

    /// Opens the requests without a known outcome. Blocks.
    /// - Parameter profileFolder: Directory of the profile.
    /// - Throws: `.malformed` for an invalid key; the errors of `UnansweredRequests`.
    public func unanswered(profileFolder: String) throws(DesktopError) -> UnansweredRequests {
        guard let markKey else { return try UnansweredRequests(profileFolder: profileFolder, key: nil) }
        guard let key = Hexadecimal.decode(markKey), key.count == BLAKE2b.length else {
            throw DesktopError.malformed
        }
        return try UnansweredRequests(profileFolder: profileFolder, key: SecretBytes(key))
    }
}

/// A request to send a file.
struct FileRequest: ControlRequest {
    typealias Answer = SendingReply

    /// The chat's name as the user typed it (`NamedChats`).
    var chat: String
    /// Message id, by which repetitions are recognised.
    var message: String
    var fileName: String
    var size: UInt64
    /// File name of the CryptoFile in the profile's staging directory.
    var staged: String
    var key: String
    var nonce: String
    var kind: String
    var preview: String
    var seconds: Int
    var caption: String
    /// Nanoseconds since 1970.
    var modified: Int64?

    var method: ControlMethod { .sendFile }
}

extension FileRequest {
    /// - Parameter message: A message whose file lies in the profile's staging directory.
    init(_ message: ComposedMessage, to chat: String) {
        let words = Self.words(message.content.kind)
        self.init(
            chat: chat, message: message.id, fileName: message.fileName, size: message.size,
            staged: message.source.path.lastPathName ?? "",
            key: Base64URL.encode(message.source.arguments?.key ?? []),
            nonce: Base64URL.encode(message.source.arguments?.nonce ?? []), kind: words.kind,
            preview: words.preview, seconds: words.seconds, caption: message.content.text,
            modified: message.modified?.nanoseconds)
    }

    /// Returns nil for an invalid request. The file must lie in `stagingFolder`.
    func composedMessage(stagingFolder: String) -> ComposedMessage? {
        guard let key = Base64URL.decode(key), let nonce = Base64URL.decode(nonce), key.count == 32,
            nonce.count == 24, let kind = contentKind, SafeFileName.make(from: fileName) == fileName,
            !staged.isEmpty, staged != ".", staged != "..", !staged.utf8.contains(UInt8(ascii: "/")),
            !staged.utf8.contains(0), !message.isEmpty, message.utf8.count <= 64
        else { return nil }
        return ComposedMessage(
            id: message, fileName: fileName, size: size,
            source: FileSourceLocation(
                path: stagingFolder + "/" + staged, arguments: FileArguments(key: key, nonce: nonce)),
            content: MessageContent(kind: kind, text: caption),
            modified: modified.map(Timestamp.init(nanoseconds:)))
    }

    private static func words(
        _ kind: MessageContent.Kind
    ) -> (kind: String, preview: String, seconds: Int) {
        switch kind {
        case .text: ("text", "", 0)
        case .file: ("file", "", 0)
        case .image(let preview): ("image", preview, 0)
        case .video(let preview, let seconds): ("video", preview, seconds)
        case .voice(let seconds): ("voice", "", seconds)
        }
    }

    private var contentKind: MessageContent.Kind? {
        guard preview.utf8.count <= FilePolicy.maxPreviewCharacters, seconds >= 0 else { return nil }
        return switch kind {
        case "file": .file
        case "image": .image(preview: preview)
        case "video": .video(preview: preview, seconds: seconds)
        case "voice": .voice(seconds: seconds)
        default: nil
        }
    }
}

/// The result of sending.
struct SendingReply: Codable, Hashable {
    /// The item that the file became.
    var item: Int64?
}

extension ProgramError {
    /// Creates the error of a failed send.
    init(sending error: ChatError) {
        let code: ProgramErrorCode =
            switch error.code {
            case .sendingUnsure: .unsure
            case .sendingUndecided: .undecided
            default: .refused
            }
        self.init(code, error.sentence, cause: error)
    }
}
