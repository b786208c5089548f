import Base

/// A message to send. `id` is the mark by which a repeated send is recognised.
public struct ComposedMessage: Sendable {
    public var id: String
    /// Name the recipients see: already made safe.
    public var fileName: String
    public var size: UInt64
    /// The staged CryptoFile.
    public var source: FileSourceLocation
    public var content: MessageContent
    /// The time of the file, shown as its mtime; nil for the time of sending.
    public var modified: Timestamp?
    /// The user accepts that the recipients may get it twice: sent although an earlier attempt ended in
    /// `.sendingUnsure`.
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
    /// For everyone: own items of the last 24 hours.
    case broadcast
    /// Only here.
    case `internal`
}
