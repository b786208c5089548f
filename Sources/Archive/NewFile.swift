import Base
import CLinux
import Glibc
import Posix

/// Creates a file that gets its name when complete and never replaces another. Until then it is hidden in the same
/// folder, and the next attempt after a kill starts again. Blocks.
public enum NewFile {
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - body: Writes the file durably.
    /// - Throws: `SystemError`: EEXIST if the path exists, EBUSY if another process creates it; the errors of `body`.
    ///   No file exists then.
    public static func write(to path: String, _ body: (OpenFile) throws -> Void) throws {
        try requireFree(path)
        let folder = path.parentPath
        let unfinished = "\(folder)/.\(path.lastPathName ?? "").new"
        let file = try OpenFile(unfinished, flags: O_RDWR | O_CREAT | O_NOFOLLOW)
        guard try file.tryLock(named: unfinished) else {
            throw SystemError(code: EBUSY, operation: "write a new file")
        }
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

    /// - Throws: EEXIST if the path exists.
    public static func requireFree(_ path: String) throws(SystemError) {
        var status = stat()
        if lstat(path, &status) == 0 { throw SystemError(code: EEXIST, operation: "make a new file") }
    }
}
