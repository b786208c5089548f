import Base
import ChatCore

/// The inode number of a node: assigned once, kept across mounts, never reused.
public struct NodeID: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// FUSE's number of the root.
    public static let root = NodeID(1)
    public static let control = NodeID(2)
    public static let status = NodeID(3)
    public static let transfers = NodeID(4)
    public static let recovered = NodeID(5)
    public static let noMedia = NodeID(6)
    public static let trackerIgnore = NodeID(7)
    public static let messages = NodeID(8)
    /// Smaller numbers belong to the fixed nodes of every mount.
    public static let firstStored = NodeID(1024)

    /// Numbers from here to twice this belong to pasted folders and their entries, for one mount. No index reaches
    /// them; numbers of thumbnails and logs are larger still.
    public static let firstPasted = NodeID(1 << 60)
    public var isPasted: Bool {
        (Self.firstPasted.rawValue..<Self.firstPasted.rawValue * 2).contains(rawValue)
    }
}

/// A draft's id in the outbox.
public struct DraftID: Hashable, Comparable, Sendable {
    public let rawValue: Int64
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A folder or file at one moment: an immutable value behind a reference, so that readers hold it without copying or
/// locking.
public final class Node: Sendable {
    public enum Content: Sendable {
        case root
        /// `.chatfs` and its fixed entries.
        case control
        case status
        case transfers
        case recovered
        /// An empty file that stops indexers: found by name in the root and in chats, never listed.
        case marker
        case chat(Chat)
        /// An item with a file, without its preview: ten thousand previews would take 140 MB.
        case item(ChatItem)
        case draft(DraftID)
        /// A pasted folder, or a folder in it.
        case pastedFolder
        /// The generated folders of thumbnails and the thumbnails.
        case thumbnails
        case thumbnail
        /// The folder of chat logs and a log.
        case messages
        case messageLog(ChatReference)
    }

    public let id: NodeID
    /// The parent folder; the root's is itself.
    public let folder: NodeID
    public let name: EntryName
    public let content: Content
    /// Modification time set by the writer of a sent file; nil to use the item's time.
    public let modified: Timestamp?
    /// True if the item's message has a preview, which is not stored here.
    public let hasPreview: Bool
    /// True if metadata was removed from a sent file.
    public let isCleaned: Bool

    /// Creates a node for other modules' own trees.
    public init(
        id: NodeID, folder: NodeID, name: EntryName, content: Content, modified: Timestamp? = nil,
        hasPreview: Bool = false, isCleaned: Bool = false
    ) {
        self.hasPreview = hasPreview
        self.isCleaned = isCleaned
        self.id = id
        self.folder = folder
        self.name = name
        self.content = content
        self.modified = modified
    }

    public var isFolder: Bool {
        switch content {
        case .root, .control, .recovered, .chat, .pastedFolder, .thumbnails, .messages: true
        case .status, .transfers, .marker, .item, .draft, .thumbnail, .messageLog: false
        }
    }

    /// Time at which an item was sent or received.
    var time: Timestamp? { if case .item(let item) = content { item.time } else { nil } }

    func with(
        name: EntryName? = nil, content: Content? = nil, modified: Timestamp? = nil, hasPreview: Bool? = nil
    ) -> Node {
        Node(
            id: id, folder: folder, name: name ?? self.name, content: content ?? self.content,
            modified: modified ?? self.modified, hasPreview: hasPreview ?? self.hasPreview,
            isCleaned: isCleaned)
    }
}
