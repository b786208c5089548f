import Base
import Posix

/// Makes one archive of a pasted folder: a ZIP through libarchive in the program.
///
/// One archive at a time per thread; the call blocks until the archive is complete. It writes the archive from its
/// first byte on, in order, in pieces of any size. An error of the entries or of `write` ends it.
public protocol FolderArchiving: Sendable {
    /// - Throws: The error of the entries or of `write`, or the reason that archives cannot be made.
    func archive(
        _ entries: [FolderEntry], write: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws
}

/// A file or folder in an archive.
public struct FolderEntry: Sendable {
    /// Names separated by `/`, without a leading or trailing one; UTF-8.
    public let path: [UInt8]
    public let modified: Timestamp
    /// nil for a folder.
    public let content: Content?

    public struct Content: Sendable {
        /// Size in bytes.
        public let size: UInt64
        /// Fills the buffer from an offset; fewer bytes only at the end. Blocks.
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

/// The effect of pasting a folder into a chat.
public enum FolderPolicy: String, CaseIterable, Sendable {
    /// Refuse it before its first file.
    case refuse
    /// Send it as one archive.
    case archive
}
