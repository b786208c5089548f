import Base
import Glibc
import Posix

/// A directory to mount on: existing, empty, owned by the user, and no mountpoint.
public struct Mountpoint: Hashable, Sendable {
    /// Absolute, without symbolic links.
    public let path: String
    /// Directories that `prepare` created, outermost first.
    private let made: [String]

    static let type = "fuse.chatfs"

    /// Checks the directory, creates it and missing parents (mode 0700), and unmounts the leftover mount of a dead
    /// daemon.
    /// - Parameter absolute: A path from `absolutePath`.
    /// - Throws: `.alreadyMounted`, `.mountpoint`.
    public static func prepare(_ absolute: String) async throws(FuseError) -> Mountpoint {
        // If the table cannot be read, mounting reports the error.
        if let mount = try? MountTable.mount(at: absolute) {
            guard mount.type == type, access(absolute, F_OK) != 0, errno == ENOTCONN else {
                throw FuseError(.alreadyMounted, "Something is mounted on this folder already.")
            }
            // fusermount3 permits this for the mount's own user only; root needs no permission.
            guard await mount.detach() == .gone else {
                throw FuseError(
                    .alreadyMounted,
                    "A mount whose program has died is on this folder and could not be taken away.")
            }
        }
        let made = try makeFolders(to: absolute)
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
        return Mountpoint(path: absolute, made: made)
    }

    /// - Returns: The created directories, outermost first.
    private static func makeFolders(to absolute: String) throws(FuseError) -> [String] {
        var (made, path) = ([String](), "")
        let names = absolute.pathNames
        for (index, name) in names.enumerated() {
            path += "/" + name
            if mkdir(path, 0o700) == 0 {
                made.append(path)
                continue
            }
            let code = errno
            // mkdir of an existing parent may fail with another error, such as EROFS.
            var status = stat()
            if code == EEXIST || index < names.count - 1 && stat(path, &status) == 0 { continue }
            for folder in made.reversed() { rmdir(folder) }
            throw FuseError(.mountpoint, SystemError(code: code, operation: "make the mountpoint").sentence)
        }
        return made
    }

    /// Removes the directories that `prepare` created, because nothing was mounted. Directories that are no longer
    /// empty stay.
    public func abandon() {
        for folder in made.reversed() where rmdir(folder) != 0 { break }
    }

    /// Returns the absolute path with links in the parents resolved; parents may be missing. The last component is not
    /// resolved, because access to a dead mount fails.
    /// - Throws: `.mountpoint` if a parent or the target of a final link cannot be accessed.
    public static func absolutePath(of path: String) throws(FuseError) -> String {
        let parts = path.pathNames.filter { $0 != "." }
        guard let last = parts.last, last != ".." else {
            return try resolved(path.isEmpty ? "." : path)
        }
        let parents = (path.isAbsolutePath ? "/" : "./") + parts.dropLast().joined(separator: "/")
        let parent = try resolvedParent(parents)
        let joined = parent == "/" ? "/\(last)" : "\(parent)/\(last)"
        var status = stat()
        if lstat(joined, &status) == 0, status.st_mode & S_IFMT == S_IFLNK { return try resolved(joined) }
        return joined
    }

    /// Resolves a missing parent through its own parent.
    private static func resolvedParent(_ path: String) throws(FuseError) -> String {
        if let text = realpath(path, nil) {
            defer { free(text) }
            return String(cString: text)
        }
        var status = stat()
        guard errno == ENOENT, lstat(path, &status) != 0, errno == ENOENT, let name = path.lastPathName,
            name != ".", name != ".."
        else { return try resolved(path) }
        let parent = try resolvedParent(path.parentPath)
        return parent == "/" ? "/\(name)" : "\(parent)/\(name)"
    }

    private static func resolved(_ path: String) throws(FuseError) -> String {
        do throws(SystemError) {
            return try SymbolicLink.resolved(path, to: "find the folder")
        } catch {
            throw FuseError(.mountpoint, error.sentence, cause: error)
        }
    }
}
