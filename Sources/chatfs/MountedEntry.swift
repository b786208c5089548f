import Base
import CommandLineKit
import Desktop
import Fuse
import Glibc
import Posix

/// A file on a mount, as a command finds it. Finding blocks.
struct MountedEntry: Sendable {
    var path: String
    /// The inode number, by which its daemon knows it.
    var number: UInt64
    var size: UInt64
    var mounted: Mounted

    /// The path itself where something has it; else, of a relative one, the same below the usual mount (`MountChoice`).
    static func place(_ path: String) -> String {
        var status = stat()
        guard !path.isAbsolutePath, lstat(path, &status) != 0, errno == ENOENT,
            let mounted = try? Mounted.usual(nil),
            lstat("\(mounted.mountpoint)/\(path)", &status) == 0
        else { return path }
        return "\(mounted.mountpoint)/\(path)"
    }

    /// The files behind a path, those of a folder without what was not sent yet, and what could not be looked at.
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
            collect(path, mounted, &entries, &problems)
        } catch {
            problems.append(PathError(path, error))
        }
        return (entries, problems)
    }

    /// Why a path names nothing on a mount: also that there is no such file.
    static func notMounted(_ path: String) -> any Error {
        var status = stat()
        if lstat(path, &status) != 0, errno == ENOENT || errno == ENOTDIR {
            return Refusal("no such file")
        }
        return DesktopError(.notMounted, "It is not on a mount of ChatFS.")
    }

    /// Not sent yet, so that nothing of it can be received: of a folder it is not meant.
    private static func isDraft(_ path: String) -> Bool {
        let state = try? ExtendedAttribute.text("user.chatfs.state", of: path)
        return state == "draft" || state == "queued"
    }

    private static func collect(
        _ path: String, _ mounted: Mounted, _ entries: inout [MountedEntry], _ problems: inout [PathError]
    ) {
        do {
            var status = stat()
            guard lstat(path, &status) == 0 else {
                // As 'chatfs ls' says it; of a mount that has died the cause is looked at.
                let cause = SystemError(code: errno, operation: "look at it")
                throw DesktopError(.system, String(cString: strerror(cause.code)) + ".", cause: cause)
            }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                entries.append(
                    MountedEntry(
                        path: path, number: UInt64(status.st_ino), size: UInt64(status.st_size),
                        mounted: mounted))
                return
            }
            let names = try PrivateFolder.names(in: try OpenFile(path, flags: O_RDONLY))
            let folder = path.endsWithBytes(of: "/") ? path : path + "/"
            for name in names.sorted() where name != ".chatfs" && !isDraft(folder + name) {
                collect(folder + name, mounted, &entries, &problems)
            }
        } catch {
            problems.append(PathError(path, error))
        }
    }
}
