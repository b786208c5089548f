import Base
import CLinux
import Glibc
import Posix

/// A file that gets its name only when it is complete. Until then it has none (O_TMPFILE), so that not
/// even kill -9 leaves a half-written or unverified one behind.
enum UnnamedFile {
    /// Runs `body` on an empty file in the folder of `path` and then puts it there, in place of what was.
    /// When `body` throws, nothing changes. Refuses what is no regular file: a device or a link would
    /// be replaced, not written.
    static func write(
        to path: String, _ body: (OpenFile) throws(CryptographyError) -> Void
    ) throws(CryptographyError) {
        var status = stat()
        if lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG {
            throw CryptographyError(
                .notRegularFile, "The destination exists and is no regular file; name a file.")
        }
        let folder = path.parentPath
        let temporary = folderPrefix(folder) + ".chatfs-" + Hexadecimal.encode(SystemRandomSource().bytes(8))
        let (file, named) = try wrappingSystemError { () throws(SystemError) in
            try open(in: folder, temporary: temporary)
        }
        do throws(CryptographyError) {
            try body(file)
            try wrappingSystemError { () throws(SystemError) in
                try file.synchronise()
                if !named { try name(file, temporary) }
                try check("give a file its name") { rename(temporary, path) }
            }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private static func folderPrefix(_ folder: String) -> String {
        folder == "." ? "" : folder
    }

    /// Not every filesystem has unnamed files; there a hidden name stands in.
    private static func open(
        in folder: String, temporary: String
    ) throws(SystemError) -> (file: OpenFile, named: Bool) {
        let directory = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
        let descriptor = chatfs_open_unnamed(directory.descriptor)
        if descriptor >= 0 { return (OpenFile(adopting: descriptor), false) }
        guard errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL else {
            throw SystemError(code: errno, operation: "make a file")
        }
        return (try OpenFile(temporary, flags: O_RDWR | O_CREAT | O_EXCL), true)
    }

    private static func name(_ file: OpenFile, _ path: String) throws(SystemError) {
        try check("give a file its name") {
            linkat(AT_FDCWD, "/proc/self/fd/\(file.descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        }
    }
}
