import Base

/// Size of a chat's log at one moment.
public struct MessageLog: Hashable, Sendable {
    public var size: UInt64
    /// Time of the last added or blanked line.
    public var modified: Timestamp

    public init(size: UInt64, modified: Timestamp) {
        self.size = size
        self.modified = modified
    }
}
