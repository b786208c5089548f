import Archive
import FileSystem

/// Makes ZIP files of pasted folders.
struct FolderArchiver: FolderArchiving {
    /// Returns nil without libarchive. Loads the library, so it must be created before the process confines itself.
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
