import Base
import CLinux
import Glibc
import Posix

/// Creates files that get their name only when complete (O_TMPFILE). Even kill -9 leaves no partial file behind.
enum UnnamedFile {
    /// Runs `body` on an empty file in the folder of `path` and then renames it to `path`, replacing an existing file.
    /// If `body` throws, nothing changes. Fails if `path` is no regular file, because renaming would replace a device
    /// or link.
    static func write(
        to path: String, _ body: (OpenFile) throws(CryptographyError) -> Void
    ) throws(CryptographyError) {
        var status = stat()
        if lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG {
            throw CryptographyError(
                .notRegularFile, "The destination exists and is not a regular file; choose another path.")
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

    /// Filesystems without O_TMPFILE get a hidden name instead.
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
