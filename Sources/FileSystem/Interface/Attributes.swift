import Base
import Namespace

/// The attributes of a node for `stat`. Owner and group are the mounting user's; the device is the mount's.
public struct Attributes: Hashable, Sendable {
    public var id: NodeID
    public var isFolder: Bool
    /// Permission bits, such as 0o400.
    public var permissions: UInt16
    /// Plaintext bytes, known before any is local.
    public var size: UInt64
    /// Local blocks of 512 bytes. 1 for a placeholder, because GNU tar archives a file without blocks as one hole of
    /// zeros.
    public var blocks: UInt64
    public var modified: Timestamp
    public var links: UInt32
    public var keeping: Keeping

    /// Attributes of a vanished node whose last attributes are unknown.
    public static func ofVanished(_ id: NodeID, isFolder: Bool) -> Attributes {
        Attributes(
            id: id, isFolder: isFolder, permissions: isFolder ? 0o700 : 0o400, size: 0, blocks: 0,
            modified: Timestamp(seconds: 0), links: isFolder ? 2 : 1, keeping: .never)
    }

    /// How long the kernel may cache the attributes.
    public enum Keeping: Sendable {
        /// Until a notice.
        case untilNotice
        /// One second, for attributes that change without a notice.
        case moment
        /// Not at all, for attributes that change with each opening.
        case never
    }
}

/// A change by chmod, chown, truncate or utimensat; nil keeps a field.
public struct AttributeChange: Sendable {
    public enum Time: Sendable {
        case now
        case at(Timestamp)
    }

    public var permissions: UInt16?
    /// True if owner or group would change.
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
