import Archive
import FileSystem

/// Makes ZIP files of folders that are pasted into chats.
struct FolderArchiver: FolderArchiving {
    /// Nil where libarchive is missing. To be made before the process confines itself: it loads the library.
    init?() {
        guard FolderZip.isAvailable else { return nil }
    }

    func archive(
        _ entries: [FolderEntry], write: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let zip = try FolderZip(write: write)
        for entry in entries {
            if let content = entry.content {
                try zip.add(
                    file: entry.path, size: content.size, modified: entry.modified, read: content.read)
            } else {
                try zip.add(folder: entry.path, modified: entry.modified)
            }
        }
        try zip.finish()
    }
}
