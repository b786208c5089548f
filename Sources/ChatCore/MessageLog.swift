import Base

/// How long the log of a chat is at one moment.
public struct MessageLog: Hashable, Sendable {
    public var size: UInt64
    /// When it grew last, or lost words.
    public var modified: Timestamp

    public init(size: UInt64, modified: Timestamp) {
        self.size = size
        self.modified = modified
    }
}
