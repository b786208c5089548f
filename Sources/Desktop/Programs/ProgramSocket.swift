import Base
import Glibc
import Posix

/// The address of a mount's program socket: in `$XDG_RUNTIME_DIR/chatfs`, named after the daemon's process id, or
/// without that directory in the profile's directory.
public struct ProgramSocket: Sendable {
    private static let folderName = "chatfs"
    private static let nameInProfile = "programs"
    private static let suffix = ".socket"

    /// Absolute.
    public let path: String
    let folder: OpenFile
    let name: String

    /// Chooses the directory and removes sockets of killed daemons. Blocks.
    /// - Parameters:
    ///   - runtimeFolder: `$XDG_RUNTIME_DIR`; nil if it is not set.
    ///   - profileFolder: The profile's directory, whose lock this process holds.
    /// - Throws: `.system` if neither directory is usable.
    public init(runtimeFolder: String?, profileFolder: String) throws(DesktopError) {
        if let runtimeFolder, let opened = Self.folder(in: runtimeFolder) {
            (folder, name) = (opened, "\(getpid())\(Self.suffix)")
            path = "\(runtimeFolder)/\(Self.folderName)/\(name)"
            Self.sweep(folder)
            return
        }
        folder = try ControlSocket.openFolder(profileFolder)
        name = Self.nameInProfile
        path = "\(profileFolder)/\(name)"
    }

    /// Returns the directory if it belongs to this user only, else nil.
    private static func folder(in runtimeFolder: String) -> OpenFile? {
        guard runtimeFolder.isAbsolutePath,
            let runtime = try? OpenFile(runtimeFolder, flags: O_RDONLY | O_DIRECTORY),
            let folder = try? PrivateFolder.folder(folderName, in: runtime),
            let status = try? folder.status(), status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else { return nil }
        return folder
    }

    private static func sweep(_ folder: OpenFile) {
        // Sockets that cannot be listed stay; they do no harm.
        for name in (try? PrivateFolder.names(in: folder)) ?? [] where name.hasSuffix(suffix) {
            guard let process = pid_t(name.dropLast(suffix.count)),
                hasEnded(process) || isDeaf(name, in: folder)
            else { continue }
            unlinkat(folder.descriptor, name, 0)
        }
    }

    private static func hasEnded(_ process: pid_t) -> Bool { kill(process, 0) == -1 && errno == ESRCH }

    /// Returns true if no process listens although the process id is in use, because it was reused or the process is a
    /// zombie. A young socket may be about to listen.
    private static func isDeaf(_ name: String, in folder: OpenFile) -> Bool {
        var status = stat()
        guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & S_IFMT == S_IFSOCK, time(nil) - status.st_mtim.tv_sec > 60
        else { return false }
        if case .success(nil) = Result(catching: { () throws(DesktopError) in
            try ControlSocket.connect(in: folder, named: name)
        }) {
            return true
        }
        return false
    }
}
