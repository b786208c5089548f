import Base
import FoundationEssentials

/// The protocol of commands and programs with the daemon of a mount: one JSON object per line.
/// `docs/reference/control-socket.md` documents it; its examples are tested.
public enum ControlProtocol {
    /// Incremented by changes that would mislead clients of the previous version. Additions do not increment it,
    /// because clients must ignore unknown members and events.
    public static let version = 1
    /// Maximum number of chats or entries per reply.
    public static let maxCount = 1000
}

/// The daemon's first line.
public struct ControlGreeting: Codable, Hashable, Sendable {
    public var chatfs: Int
    public var profile: String
    public var mountpoint: String
    public var pid: Int32

    public init(profile: String, mountpoint: String, pid: Int32) {
        chatfs = ControlProtocol.version
        self.profile = profile
        self.mountpoint = mountpoint
        self.pid = pid
    }
}

/// The methods of a mount. `docs/reference/control-socket.md` documents those of programs.
public enum ControlMethod: String, Codable, Hashable, Sendable, CaseIterable {
    // Of programs: `ProgramRequests.swift`.
    case listChats = "list_chats"
    case listItems = "list_items"
    case getItem = "get_item"
    case getSyncStatus = "get_sync_status"
    case getMetrics = "get_metrics"
    case subscribe
    case hydrate, dehydrate, pin, unpin, free, cancel, retry
    case upload
    case sendText = "send_text"
    case mute, unmute
    case markRead = "mark_read"
    case keep
    case approve
    case suspend, resume

    // Of commands of the same version, each with a request type of its own.
    /// `SendingInquiry`.
    case sendingTerms = "sending_terms"
    /// `FileRequest`.
    case sendFile = "send_file"
    /// `TextRequest`.
    case say
    /// `CacheRequest`.
    case cache
    /// `ChatManagementRequest`.
    case chats
    /// `StandaloneRequest`: has several results, until `isOver`.
    case transfer
    /// `KeepRequest`.
    case rules
    /// `LinkRequest`.
    case links
    /// `ContactRequest`.
    case contacts
    /// `FreeRequest`.
    case freeFiles = "free_files"
    /// `DeleteRequest`.
    case deleteFiles = "delete_files"
}

/// A method with its parameters and the type of its result.
public protocol ControlRequest: Codable, Hashable, Sendable {
    associatedtype Answer: Codable, Hashable, Sendable
    var method: ControlMethod { get }
}

/// The members of every request beside its parameters.
struct ControlHead: Codable {
    /// Repeated in the reply.
    var id: Int64?
    var method: String?
}

/// A request with its head: one line of JSON.
struct ControlCall<Request: ControlRequest>: Encodable {
    var id: Int64
    var request: Request

    func encode(to encoder: any Encoder) throws {
        try request.encode(to: encoder)
        // Adds members to the same object.
        try ControlHead(id: id, method: request.method.rawValue).encode(to: encoder)
    }
}

/// The result of methods that return nothing.
public struct DoneAnswer: Codable, Hashable, Sendable {
    public var done = true
}

/// The reply to a request: a result or an error.
public struct ControlAnswer<Result: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    /// nil if the request could not be parsed.
    public var id: Int64?
    public var result: Result?
    public var error: Problem?

    public struct Problem: Codable, Hashable, Sendable {
        public var code: ProgramErrorCode
        /// A sentence for the user.
        public var message: String
    }

    init(_ id: Int64?, _ result: Result) {
        self.id = id
        self.result = result
    }

    init(_ id: Int64?, error: ProgramError) {
        self.id = id
        self.error = Problem(code: error.code, message: error.sentence)
    }
}

extension ControlChannel {
    func send(_ message: some Encodable) throws(DesktopError) {
        let line: [UInt8]
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            line = Array(
                PrintableJSON.escaping(String(decoding: try encoder.encode(message), as: UTF8.self)).utf8)
        } catch {
            throw DesktopError(.malformed, "The message cannot be written as JSON.", cause: error)
        }
        guard line.count < Self.maxLineLength else {
            throw DesktopError(.refused, "This is too long for the mount's process.")
        }
        try writeLine(line)
    }

    func receive<Message: Decodable>(
        _ type: Message.Type, timeout: Duration? = nil
    ) throws(DesktopError) -> Message {
        guard let message = Self.decoded(type, from: try readLine(timeout: timeout)) else {
            throw DesktopError.malformed
        }
        return message
    }

    /// Receives the reply to the request of this number.
    func receive<Answer: Codable & Hashable & Sendable>(
        _ type: Answer.Type, to id: Int64, timeout: Duration? = nil
    ) throws(DesktopError) -> Result<Answer, ProgramError> {
        let reply = try receive(ControlAnswer<Answer>.self, timeout: timeout)
        guard reply.id == id else { throw DesktopError.malformed }
        if let problem = reply.error { return .failure(ProgramError(problem.code, problem.message)) }
        guard let result = reply.result else { throw DesktopError.malformed }
        return .success(result)
    }

    /// Returns nil if the line is no such message.
    static func decoded<Message: Decodable>(_ type: Message.Type, from line: [UInt8]) -> Message? {
        try? decode(type, from: line)
    }

    /// - Throws: `DecodingError`.
    static func decode<Message: Decodable>(_ type: Message.Type, from line: [UInt8]) throws -> Message {
        try JSONDecoder().decode(type, from: Data(line))
    }
}

extension DesktopError {
    /// Creates the error of a daemon's reply.
    init(reply error: ProgramError) {
        let code: DesktopErrorCode =
            switch error.code {
            case .unsure: .unsure
            case .undecided: .noAnswer
            default: .refused
            }
        self.init(code, error.sentence, cause: error)
    }
}
