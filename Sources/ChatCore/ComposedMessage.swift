import Base

/// A message to send. `id` is its idempotency key.
public struct ComposedMessage: Sendable {
    public var id: String
    /// Sanitised name for the recipients.
    public var fileName: String
    public var size: UInt64
    /// The staged CryptoFile.
    public var source: FileSourceLocation
    public var content: MessageContent
    /// Modification time of the file, its mtime; nil for the time of sending.
    public var modified: Timestamp?
    /// Whether the user accepts a duplicate after `.sendingUnsure`.
    public var mayBeRepeated = false

    public init(
        id: String, fileName: String, size: UInt64, source: FileSourceLocation, content: MessageContent,
        modified: Timestamp? = nil
    ) {
        self.id = id
        self.fileName = fileName
        self.size = size
        self.source = source
        self.content = content
        self.modified = modified
    }
}

public enum DeletionMode: String, Sendable {
    /// For everyone; own items of the last 24 hours only.
    case broadcast
    /// Local only.
    case `internal`
}
