import Base
import ChatCore

/// The inode number of a node. Given once, kept across remounts, never used again.
public struct NodeID: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// 1 is what FUSE calls the root.
    public static let root = NodeID(1)
    public static let control = NodeID(2)
    public static let status = NodeID(3)
    public static let transfers = NodeID(4)
    public static let recovered = NodeID(5)
    public static let noMedia = NodeID(6)
    public static let trackerIgnore = NodeID(7)
    public static let messages = NodeID(8)
    /// Smaller numbers belong to what every mount has.
    public static let firstStored = NodeID(1024)

    /// Larger numbers, up to twice this one, belong to folders that are being copied into chats and to what is in them,
    /// for one mount. No index ever gives so many; those of thumbnails and of logs are larger still.
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

/// A folder or file of the mount at one moment: an immutable value behind a reference, so that a
/// reader holds it without copying and without keeping anybody waiting.
public final class Node: Sendable {
    public enum Content: Sendable {
        case root
        /// `.chatfs` and what is always in it.
        case control
        case status
        case transfers
        case recovered
        /// An empty file that tells indexers to stay away: found by its name in the root and in chats, never listed.
        case marker
        case chat(Chat)
        /// An item with a file. Its preview is left out: nothing here shows it, and ten thousand of
        /// them would be 140 MB.
        case item(ChatItem)
        case draft(DraftID)
        /// A folder that is being copied into a chat and becomes one archive, or a folder in it.
        case pastedFolder
        /// A folder of thumbnails, and what is in it: made of previews when somebody asks for it.
        case thumbnails
        case thumbnail
        /// The folder of the logs of chats, and one of these.
        case messages
        case messageLog(ChatReference)
    }

    public let id: NodeID
    /// The folder it lies in; the root lies in itself.
    public let folder: NodeID
    public let name: EntryName
    public let content: Content
    /// What the writer of a sent file set as its time; nil where the item's own time counts.
    public let modified: Timestamp?
    /// Whether the message of an item carries a preview, which is left out here.
    public let hasPreview: Bool
    /// Of a sent file: its metadata was removed from what was written.
    public let isCleaned: Bool

    /// For what a namespace does not hold; its own nodes it makes itself.
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

    /// Of an item: when it was sent or received.
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
