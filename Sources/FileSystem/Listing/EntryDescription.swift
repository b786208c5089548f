import Base
import ChatCore
import Namespace

/// An entry of the tree as programs are told of it.
public struct EntryDescription: Hashable, Sendable {
    public var id: NodeID
    /// Below the mountpoint: folder and name.
    public var path: String
    /// Nil for a recovered draft.
    public var chat: ChatReference?
    /// Bytes.
    public var size: UInt64
    public var modified: Timestamp
    /// What its extended attributes say (`docs/semantics.md`), by their names.
    public var attributes: [String: String]
    /// SHA-256 of its bytes, where that was asked for and is known.
    public var digest: [UInt8]?

    public var name: String { path.lastPathName ?? path }

    /// - Parameter name: behind `user.chatfs.`.
    public subscript(name: String) -> String? { attributes["user.chatfs." + name] }
}

/// A folder of a chat.
public struct FolderDescription: Hashable, Sendable {
    public var id: NodeID
    public var name: String
    public var chat: Chat
}
