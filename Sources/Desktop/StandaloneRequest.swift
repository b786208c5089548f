import Base

/// A request to upload, download or cancel a file without a chat.
public struct StandaloneRequest: ControlRequest {
    public typealias Answer = StandaloneState

    public enum Action: String, Codable, Hashable, Sendable {
        case upload, download, cancel
    }

    public var action: Action
    /// Absolute path, without symbolic links, of the file to upload or to create.
    public var path: String?
    public var link: String?
    /// For `cancel`: the upload.
    public var file: Int64?

    public var method: ControlMethod { .transfer }

    public static func upload(_ path: String) -> StandaloneRequest {
        StandaloneRequest(action: .upload, path: path)
    }

    public static func download(_ link: String, to path: String) -> StandaloneRequest {
        StandaloneRequest(action: .download, path: path, link: link)
    }

    public static func cancel(_ file: Int64) -> StandaloneRequest {
        StandaloneRequest(action: .cancel, file: file)
    }
}

/// The progress of a transfer, sent several times a second until it ends.
public struct StandaloneState: Codable, Hashable, Sendable {
    /// Identifies an upload for `cancel`.
    public var file: Int64?
    /// Bytes of the encrypted file.
    public var done: UInt64 = 0
    public var total: UInt64 = 0
    /// A sentence that tells why the transfer is stalled; it is being retried.
    public var warning: String?
    /// Link of a complete upload. A secret.
    public var link: String?
    /// A sentence that tells why the transfer failed.
    public var problem: String?
    public var isOver = false

    public init() {}

    init(problem: String) {
        self.problem = problem
        isOver = true
    }
}
