import Base
import ChatCore
import Namespace

/// An entry of the tree as reported to programs.
public struct EntryDescription: Hashable, Sendable {
    public var id: NodeID
    /// Path below the mountpoint.
    public var path: String
    /// nil for a recovered draft.
    public var chat: ChatReference?
    /// Size in bytes.
    public var size: UInt64
    public var modified: Timestamp
    /// Values of the extended attributes (`docs/reference/filesystem.md`) by full name.
    public var attributes: [String: String]
    /// SHA-256 of the content if it was requested and is known.
    public var digest: [UInt8]?

    public var name: String { path.lastPathName ?? path }

    /// - Parameter name: Attribute name without the prefix `user.chatfs.`.
    public subscript(name: String) -> String? { attributes["user.chatfs." + name] }
}

/// The folder of a chat.
public struct FolderDescription: Hashable, Sendable {
    public var id: NodeID
    public var name: String
    public var chat: Chat
}
