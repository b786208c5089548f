import Base
import Posix

/// Makes one archive of a folder that was copied into a chat: a ZIP, with libarchive in the program.
///
/// One archive at a time on a thread; calls block for as long as all bytes take. What is written is the archive from
/// its first byte on, in order, in pieces of any size, and all of it when `archive` returns. What the entries or
/// `write` throw ends it, and is thrown on.
public protocol FolderArchiving: Sendable {
    /// - Throws: what the entries or `write` throw, or why no archive can be made.
    func archive(
        _ entries: [FolderEntry], write: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws
}

/// A file or a folder in an archive.
public struct FolderEntry: Sendable {
    /// Names with `/` between them, without one at the ends; UTF-8.
    public let path: [UInt8]
    public let modified: Timestamp
    /// Nil: a folder.
    public let content: Content?

    public struct Content: Sendable {
        /// Bytes.
        public let size: UInt64
        /// Fills the buffer from an offset on; fewer bytes only at the end. Blocks.
        public let read: @Sendable (UnsafeMutableRawBufferPointer, UInt64) throws -> Int

        public init(
            size: UInt64, read: @escaping @Sendable (UnsafeMutableRawBufferPointer, UInt64) throws -> Int
        ) {
            self.size = size
            self.read = read
        }
    }

    public init(path: [UInt8], modified: Timestamp, content: Content?) {
        self.path = path
        self.modified = modified
        self.content = content
    }
}

/// What becomes of a folder that is pasted into a chat.
public enum FolderPolicy: String, CaseIterable, Sendable {
    /// It is refused before its first file.
    case refuse
    /// It is sent as one archive.
    case archive
}
