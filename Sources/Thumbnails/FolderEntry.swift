import Glibc
import Posix

/// A name in a folder, with information from readdir(3) only.
struct FolderEntry {
    var name: String
    /// Whether it is a symbolic link, or of unknown type.
    var mayBeLink: Bool

    /// Returns all entries except `.` and `..`, unordered.
    static func all(in folder: OpenFile) throws(SystemError) -> [FolderEntry] {
        let copy = try check("read a folder") { openat(folder.descriptor, ".", O_RDONLY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            let code = errno
            close(copy)
            throw SystemError(code: code, operation: "read a folder")
        }
        defer { closedir(stream) }
        var entries: [FolderEntry] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            let kind = Int32(entry.pointee.d_type)
            entries.append(
                FolderEntry(name: name, mayBeLink: kind == Int32(DT_LNK) || kind == Int32(DT_UNKNOWN)))
        }
        return entries
    }
}
