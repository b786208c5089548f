import Base
import CLinux
import Glibc

/// A folder created by ChatFS: mode 0700, owned by this user, opened by descriptor without following links, with a
/// marker file. ChatFS empties and removes only such folders.
public struct PrivateFolder: Sendable {
    /// The name of the marker. Its only line states the folder's purpose.
    public static let marker = ".chatfs-folder"

    public let path: String
    public let directory: OpenFile

    /// Opens the folder, and creates it if missing. An existing folder must be empty or have the marker of the same
    /// purpose, and must be private to this user.
    /// - Throws: EPERM for a folder of another user or open to others, EEXIST for another purpose, ENOTEMPTY for files
    ///   without a marker; disk errors.
    public init(_ path: String, purpose: String) throws(SystemError) {
        try Self.makeFolders(to: path)
        let directory = try OpenFile(path, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow)
        let status = try directory.status()
        guard status.st_uid == geteuid() else {
            throw SystemError(
                code: EPERM,
                operation:
                    "use \(path): it belongs to \(Self.user(status.st_uid)), not \(Self.user(geteuid()))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw SystemError(code: EPERM, operation: "use a folder that others can enter (want mode 0700)")
        }
        self.path = path
        self.directory = directory
        if let found = try? OpenFile(Self.marker, flags: O_RDONLY | chatfs_o_nofollow, in: directory) {
            guard try found.readAll(limit: 256) == Array((purpose + "\n").utf8) else {
                throw SystemError(code: EEXIST, operation: "use a folder made for something else")
            }
        } else {
            // A full disk or a crash may have prevented the marker.
            guard try names().allSatisfy({ $0 == Self.unfinished(Self.marker) }) else {
                throw SystemError(code: ENOTEMPTY, operation: "use a folder that holds other files")
            }
            try write(Array((purpose + "\n").utf8), to: Self.marker)
        }
    }

    private static func user(_ id: uid_t) -> String {
        getpwuid(id).map { String(cString: $0.pointee.pw_name) } ?? "user \(id)"
    }

    private static func makeFolders(to path: String) throws(SystemError) {
        var prefix = path.isAbsolutePath ? "/" : "."
        for name in path.pathNames {
            let inner = prefix == "/" ? prefix + name : prefix + "/" + name
            if mkdir(inner, 0o700) == 0 {
                try OpenFile(prefix, flags: O_RDONLY | chatfs_o_directory).synchronise()
            } else if errno != EEXIST && errno != EISDIR {
                throw SystemError(code: errno, operation: "make a folder")
            }
            prefix = inner
        }
    }

    /// Opens a subfolder with mode 0700, and creates it if missing.
    /// - Throws: As `folder(_:in:)`.
    public func subfolder(_ name: String) throws(SystemError) -> OpenFile {
        try Self.folder(name, in: directory)
    }

    /// The same in any folder. A new one is durable, so that its synchronised files are too.
    /// - Throws: As mkdir(2), fsync(2) and open(2), ENOTDIR for anything else of that name, also a link.
    public static func folder(_ name: String, in directory: OpenFile) throws(SystemError) -> OpenFile {
        if mkdirat(directory.descriptor, name, 0o700) == 0 {
            try directory.synchronise()
        } else if errno != EEXIST {
            throw SystemError(code: errno, operation: "make a folder")
        }
        return try OpenFile(
            name, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow, in: directory)
    }

    /// The name of an incomplete file.
    private static func unfinished(_ name: String) -> String { ".\(name).new" }

    /// Replaces the file `name` atomically: readers see the old or the new bytes, also after a crash.
    /// - Throws: As `write(_:to:in:)`.
    public func write(_ bytes: [UInt8], to name: String) throws(SystemError) {
        try Self.write(bytes, to: name, in: directory)
    }

    /// The same in any folder. Concurrent callers for one name are serialised, also between processes.
    /// - Throws: Disk errors. The file then has the old bytes, or the complete new ones without durability.
    public static func write(
        _ bytes: [UInt8], to name: String, in directory: OpenFile
    ) throws(SystemError) {
        let temporary = unfinished(name)
        let file = try lockedFile(temporary, in: directory)
        // Keeps its lock, too, until it has its name.
        defer { withExtendedLifetime(file) {} }
        try file.truncate(to: 0)
        try file.write(bytes, at: 0)
        try file.synchronise()
        try check("replace a file") {
            renameat(directory.descriptor, temporary, directory.descriptor, name)
        }
        try directory.synchronise()
    }

    /// Creates the file if missing, and locks it until it is closed: another writer under this name could otherwise
    /// publish an incomplete file.
    private static func lockedFile(_ name: String, in directory: OpenFile) throws(SystemError) -> OpenFile {
        while true {
            let file = try OpenFile(name, flags: O_WRONLY | O_CREAT | chatfs_o_nofollow, in: directory)
            try file.lock()
            // The previous writer has given it its final name.
            var named = stat()
            if fstatat(directory.descriptor, name, &named, AT_SYMLINK_NOFOLLOW) == 0,
                try file.status().st_ino == named.st_ino
            {
                return file
            }
        }
    }

    /// Returns the names inside, without `.` and `..`.
    /// - Throws: As `names(in:)`.
    public func names() throws(SystemError) -> [String] { try Self.names(in: directory) }

    /// Returns no names for a missing folder. Does not follow a link.
    /// - Throws: As open(2), except ENOENT; as `names(in:)`.
    public static func names(at path: String) throws(SystemError) -> [String] {
        let folder = try OpenFile.existing(path, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow)
        return try folder.map { (folder) throws(SystemError) in try names(in: folder) } ?? []
    }

    /// - Throws: As open(2) and readdir(3).
    public static func names(in directory: OpenFile) throws(SystemError) -> [String] {
        let copy = try check("read a folder") { openat(directory.descriptor, ".", O_RDONLY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            let code = errno
            close(copy)
            throw SystemError(code: code, operation: "read a folder")
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            // Only errno distinguishes the end from a disk error.
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        if errno != 0 { throw SystemError(code: errno, operation: "read a folder") }
        return names.sorted()
    }

    /// Removes everything inside except the marker, without following links.
    /// - Throws: As `removeContents`.
    public func empty() throws(SystemError) {
        try Self.removeContents(of: directory, keeping: [Self.marker])
    }

    /// Removes the folder with its contents. After an interruption the folder opens again for its purpose.
    /// - Parameter lock: The file that excludes other users, which goes last.
    /// - Throws: As `removeContents`; as rmdir(2), except ENOENT.
    public func remove(lock: String? = nil) throws(SystemError) {
        try Self.removeContents(of: directory, keeping: [], last: lock)
        if rmdir(path) != 0 && errno != ENOENT {
            throw SystemError(code: errno, operation: "remove a folder")
        }
    }

    /// Removes the entries by name, then the one called `last`, then the marker: without its marker a folder with other
    /// entries opens no more.
    /// - Throws: The error of the first entry that cannot be removed. The entries before it are gone.
    public static func removeContents(
        of directory: OpenFile, keeping kept: Set<String>, last: String? = nil
    ) throws(SystemError) {
        let names = try names(in: directory)
        let atEnd = [last, marker].compactMap { $0 }.filter(names.contains)
        for name in names.filter({ !atEnd.contains($0) }) + atEnd where !kept.contains(name) {
            if unlinkat(directory.descriptor, name, 0) == 0 || errno == ENOENT { continue }
            guard errno == EISDIR || errno == EPERM else {
                throw SystemError(code: errno, operation: "remove a file")
            }
            let inner = try OpenFile(
                name, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow, in: directory)
            try removeContents(of: inner, keeping: [])
            try check("remove a folder") { unlinkat(directory.descriptor, name, AT_REMOVEDIR) }
        }
    }
}
