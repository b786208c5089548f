import Base
import CommandLineKit
import Desktop
import Fuse
import Glibc
import Posix

/// A file on a mount, as found by a command. Finding blocks.
struct MountedEntry: Sendable {
    var path: String
    /// Inode number, which identifies the entry to its daemon.
    var number: UInt64
    var size: UInt64
    var mounted: Mounted

    /// Returns the path if it exists; else, for a relative path, the path below the default mount (`MountChoice`).
    static func place(_ path: String) -> String {
        var status = stat()
        guard !path.isAbsolutePath, lstat(path, &status) != 0, errno == ENOENT,
            let mounted = try? Mounted.usual(nil),
            lstat("\(mounted.mountpoint)/\(path)", &status) == 0
        else { return path }
        return "\(mounted.mountpoint)/\(path)"
    }

    /// Returns the files of a path, without unsent ones in folders, and the paths that cannot be read.
    static func all(at path: String) -> (entries: [MountedEntry], problems: [PathError]) {
        var entries: [MountedEntry] = []
        var problems: [PathError] = []
        let path = place(path)
        do {
            let absolute = try Mountpoint.absolutePath(of: path)
            let mounts = try Mounted.all()
            guard
                let mounted = mounts.filter({
                    absolute.path(below: $0.mountpoint) != nil
                }).max(by: { $0.mountpoint.utf8.count < $1.mountpoint.utf8.count })
            else { throw notMounted(absolute) }
            // The number of a link itself may be that of another entry.
            collect(path, at: absolute, mounted, &entries, &problems)
        } catch {
            problems.append(PathError(path, error))
        }
        return (entries, problems)
    }

    /// Returns the error for a path that is not on a mount or does not exist.
    static func notMounted(_ path: String) -> any Error {
        var status = stat()
        if lstat(path, &status) != 0, errno == ENOENT || errno == ENOTDIR {
            return Refusal("no such file")
        }
        return DesktopError(.notMounted, "The path is not on a mount of ChatFS.")
    }

    /// Returns true for an unsent file, which folder arguments skip because it cannot be received.
    private static func isDraft(_ path: String) -> Bool {
        let state = try? ExtendedAttribute.text("user.chatfs.state", of: path)
        return state == "draft" || state == "queued"
    }

    /// - Parameters:
    ///   - path: The path to show.
    ///   - place: The same without links.
    private static func collect(
        _ path: String, at place: String, _ mounted: Mounted, _ entries: inout [MountedEntry],
        _ problems: inout [PathError]
    ) {
        do {
            var status = stat()
            guard lstat(place, &status) == 0 else {
                // The same words as 'chatfs ls'; the cause reveals a dead mount.
                let cause = SystemError(code: errno, operation: "look at it")
                throw DesktopError(.system, String(cString: strerror(cause.code)) + ".", cause: cause)
            }
            // Another filesystem covers it.
            guard mounted.mount.holds(status) else { throw notMounted(place) }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                entries.append(
                    MountedEntry(
                        path: path, number: UInt64(status.st_ino), size: UInt64(status.st_size),
                        mounted: mounted))
                return
            }
            let names = try PrivateFolder.names(in: try OpenFile(place, flags: O_RDONLY))
            let folder = path.endsWithBytes(of: "/") ? path : path + "/"
            for name in names.sorted() where name != ".chatfs" && !isDraft(folder + name) {
                collect(folder + name, at: place + "/" + name, mounted, &entries, &problems)
            }
        } catch {
            problems.append(PathError(path, error))
        }
    }
}
