import Base
import Namespace

/// What `stat` shows of a node. Owner and group are the mounting user's, the device is the mount's.
public struct Attributes: Hashable, Sendable {
    public var id: NodeID
    public var isFolder: Bool
    /// Permission bits, for example 0o400.
    public var permissions: UInt16
    /// Bytes of plaintext, known before any of them is here.
    public var size: UInt64
    /// Blocks of 512 bytes that lie on this disk; 1 for a placeholder, because GNU tar takes a file
    /// without blocks for one big hole and archives zeros.
    public var blocks: UInt64
    public var modified: Timestamp
    public var links: UInt32
    public var keeping: Keeping

    /// Of what has gone and whose last attributes nobody has.
    public static func ofVanished(_ id: NodeID, isFolder: Bool) -> Attributes {
        Attributes(
            id: id, isFolder: isFolder, permissions: isFolder ? 0o700 : 0o400, size: 0, blocks: 0,
            modified: Timestamp(seconds: 0), links: isFolder ? 2 : 1, keeping: .never)
    }

    /// For how long the kernel may keep them.
    public enum Keeping: Sendable {
        /// Until it is told.
        case untilNotice
        /// What changes without the kernel's doing or a notice to it: it asks again after a second.
        case moment
        /// What is another with each opening: it asks every time.
        case never
    }
}

/// Changes that chmod, chown, truncate and utimensat ask for; nil leaves a field alone.
public struct AttributeChange: Sendable {
    public enum Time: Sendable {
        case now
        case at(Timestamp)
    }

    public var permissions: UInt16?
    /// Whether owner or group would differ from what they are.
    public var changesOwner: Bool
    public var size: UInt64?
    public var modified: Time?

    public init(permissions: UInt16?, changesOwner: Bool, size: UInt64?, modified: Time?) {
        self.permissions = permissions
        self.changesOwner = changesOwner
        self.size = size
        self.modified = modified
    }
}
