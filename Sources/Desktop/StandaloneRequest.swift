import Base

/// A file that belongs to no chat, to be uploaded, downloaded or taken back by the process that has the profile: one
/// line of JSON to the daemon of its mount.
public struct StandaloneRequest: Codable, Hashable, Sendable {
    public enum Transfer: String, Codable, Hashable, Sendable {
        case upload, download, cancel
    }

    public var transfer: Transfer
    /// Absolute, without symbolic links: of the file to upload, or of the new one.
    public var path: String?
    public var link: String?
    /// Of the upload that is to be taken back.
    public var file: Int64?

    public static func upload(_ path: String) -> StandaloneRequest {
        StandaloneRequest(transfer: .upload, path: path)
    }

    public static func download(_ link: String, to path: String) -> StandaloneRequest {
        StandaloneRequest(transfer: .download, path: path, link: link)
    }

    public static func cancel(_ file: Int64) -> StandaloneRequest {
        StandaloneRequest(transfer: .cancel, file: file)
    }
}

/// How a transfer stands; the daemon says it several times a second, each time one line of JSON, until it is over.
public struct StandaloneState: Codable, Hashable, Sendable {
    /// By which an upload can be taken back.
    public var file: Int64?
    /// Bytes of the encrypted file.
    public var done: UInt64 = 0
    public var total: UInt64 = 0
    /// Why it does not go on at present; it is tried again.
    public var warning: String?
    /// Of a complete upload. A secret.
    public var link: String?
    /// Why it failed.
    public var problem: String?
    public var isOver = false

    public init() {}

    init(problem: String) {
        self.problem = problem
        isOver = true
    }
}
