import Base
import CLinux
import Glibc
import Posix

/// A file that gets its name when it is whole, and never in place of another. Until then it is hidden beside its place,
/// so that the next attempt begins anew where a process was killed. Blocks.
public enum NewFile {
    /// - Parameters:
    ///   - path: absolute.
    ///   - body: writes it, and makes it durable.
    /// - Throws: `SystemError`: EEXIST where there is something already, EBUSY while another process does the same; what
    ///   `body` throws. Nothing is there then.
    public static func write(to path: String, _ body: (OpenFile) throws -> Void) throws {
        try requireFree(path)
        let folder = path.parentPath
        let unfinished = "\(folder)/.\(path.lastPathName ?? "").new"
        let file = try OpenFile(unfinished, flags: O_RDWR | O_CREAT | O_NOFOLLOW)
        guard try file.tryLock() else { throw SystemError(code: EBUSY, operation: "write a new file") }
        do {
            try file.truncate(to: 0)
            try body(file)
            try check("give a new file its name") {
                chatfs_rename_without_replacing(AT_FDCWD, unfinished, AT_FDCWD, path)
            }
            try OpenFile(folder, flags: O_RDONLY | O_DIRECTORY).synchronise()
        } catch {
            unlink(unfinished)
            throw error
        }
    }

    /// - Throws: EEXIST where there is something.
    public static func requireFree(_ path: String) throws(SystemError) {
        var status = stat()
        if lstat(path, &status) == 0 { throw SystemError(code: EEXIST, operation: "make a new file") }
    }
}
