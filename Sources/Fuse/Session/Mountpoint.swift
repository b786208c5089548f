import Base
import Glibc
import Posix

/// A folder that can be mounted on: it is there, empty, ours, and nothing is mounted on it.
public struct Mountpoint: Hashable, Sendable {
    /// Absolute, without symbolic links.
    public let path: String
    /// Whether `prepare` made the folder.
    private let isNew: Bool

    static let type = "fuse.chatfs"

    /// Looks at the folder, makes it when it is missing (mode 0700), and takes away what a daemon
    /// that died has left mounted on it.
    ///
    /// - Parameter absolute: from `absolutePath`.
    /// - Throws: `.alreadyMounted`, `.mountpoint`.
    public static func prepare(_ absolute: String) async throws(FuseError) -> Mountpoint {
        // Where the table cannot be read, mounting says what is wrong.
        if let mount = try? MountTable.mount(at: absolute) {
            guard mount.type == type, access(absolute, F_OK) != 0, errno == ENOTCONN else {
                throw FuseError(.alreadyMounted, "Something is mounted on this folder already.")
            }
            // fusermount3 lets only the mount's own user do this; root may anyway.
            guard await mount.detach() == .gone else {
                throw FuseError(
                    .alreadyMounted,
                    "A mount whose program has died is on this folder and could not be taken away.")
            }
        }
        let isNew = mkdir(absolute, 0o700) == 0
        if !isNew, errno != EEXIST {
            throw FuseError(
                .mountpoint, SystemError(code: errno, operation: "make the mountpoint").sentence)
        }
        let (isEmpty, owner): (Bool, uid_t)
        do throws(SystemError) {
            let folder = try OpenFile(absolute, flags: O_RDONLY | O_DIRECTORY)
            isEmpty = try PrivateFolder.names(in: folder).isEmpty
            owner = try folder.status().st_uid
        } catch {
            throw FuseError(.mountpoint, error.sentence, cause: error)
        }
        guard isEmpty else {
            throw FuseError(.mountpoint, "The mountpoint is not empty: its files would be hidden.")
        }
        guard owner == geteuid() else {
            throw FuseError(.mountpoint, "The mountpoint belongs to somebody else.")
        }
        return Mountpoint(path: absolute, isNew: isNew)
    }

    /// Nothing was mounted after all: the folder goes again if it was made for this. One that something else
    /// was put into meanwhile stays.
    public func abandon() {
        if isNew { rmdir(path) }
    }

    /// The path with the links of its parents resolved. The last part stays as it is: on a mount
    /// whose daemon is dead nothing can be asked about it.
    /// - Throws: `.mountpoint` where a parent, or what a link at the end leads to, cannot be found.
    public static func absolutePath(of path: String) throws(FuseError) -> String {
        let parts = path.pathNames.filter { $0 != "." }
        guard let last = parts.last, last != ".." else {
            return try resolved(path.isEmpty ? "." : path)
        }
        let parents = (path.isAbsolutePath ? "/" : "./") + parts.dropLast().joined(separator: "/")
        let parent = try resolved(parents)
        let joined = parent == "/" ? "/\(last)" : "\(parent)/\(last)"
        var status = stat()
        if lstat(joined, &status) == 0, status.st_mode & S_IFMT == S_IFLNK { return try resolved(joined) }
        return joined
    }

    private static func resolved(_ path: String) throws(FuseError) -> String {
        guard let text = realpath(path, nil) else {
            let cause = SystemError(code: errno, operation: "find the folder")
            throw FuseError(.mountpoint, cause.sentence, cause: cause)
        }
        defer { free(text) }
        return String(cString: text)
    }
}
