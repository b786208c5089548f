import Base
import Glibc
import Posix

/// Where programs find a mount: a socket in `$XDG_RUNTIME_DIR/chatfs`, one for each daemon, named by its process; where
/// there is no such folder, in the folder of the profile.
public struct ProgramSocket: Sendable {
    private static let folderName = "chatfs"
    private static let nameInProfile = "programs"
    private static let suffix = ".socket"

    /// Absolute.
    public let path: String
    let folder: OpenFile
    let name: String

    /// Chooses the place and removes what daemons that were killed left there. Blocks.
    /// - Parameters:
    ///   - runtimeFolder: `$XDG_RUNTIME_DIR`, nil where it is not set.
    ///   - profileFolder: of the profile, whose lock this process holds.
    /// - Throws: `.system` where neither place can be had.
    public init(runtimeFolder: String?, profileFolder: String) throws(DesktopError) {
        if let runtimeFolder, let opened = Self.folder(in: runtimeFolder) {
            (folder, name) = (opened, "\(getpid())\(Self.suffix)")
            path = "\(runtimeFolder)/\(Self.folderName)/\(name)"
            Self.sweep(folder)
            return
        }
        do throws(SystemError) {
            folder = try ControlSocket.openFolder(profileFolder)
        } catch {
            throw DesktopError(error)
        }
        name = Self.nameInProfile
        path = "\(profileFolder)/\(name)"
    }

    /// Ours and closed to others; nil where that cannot be had.
    private static func folder(in runtimeFolder: String) -> OpenFile? {
        guard runtimeFolder.isAbsolutePath,
            let runtime = try? OpenFile(runtimeFolder, flags: O_RDONLY | O_DIRECTORY),
            let folder = try? PrivateFolder.folder(folderName, in: runtime),
            let status = try? folder.status(), status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else { return nil }
        return folder
    }

    private static func sweep(_ folder: OpenFile) {
        // What cannot be listed stays: it bars nobody.
        for name in (try? PrivateFolder.names(in: folder)) ?? [] where name.hasSuffix(suffix) {
            guard let process = pid_t(name.dropLast(suffix.count)),
                hasEnded(process) || isDeaf(name, in: folder)
            else { continue }
            unlinkat(folder.descriptor, name, 0)
        }
    }

    private static func hasEnded(_ process: pid_t) -> Bool { kill(process, 0) == -1 && errno == ESRCH }

    /// Nobody listens, though the number is a process's (again, or of one that nobody has waited for): not one that is
    /// just about to.
    private static func isDeaf(_ name: String, in folder: OpenFile) -> Bool {
        var status = stat()
        guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & S_IFMT == S_IFSOCK, time(nil) - status.st_mtim.tv_sec > 60
        else { return false }
        if case .success(nil) = Result(catching: { () throws(SystemError) in
            try ControlSocket.connect(in: folder, named: name)
        }) {
            return true
        }
        return false
    }
}

/// Listens to programs: file managers' extensions, scripts, `chatfs events`. Only processes of the same user are heard,
/// at most 32 at once, each on a thread of its own. Nothing here wakes while nobody is connected, or while nothing
/// happens.
public final class ProgramServer: Sendable {
    private static let maxConnections = 32

    private let listener: SocketListener

    /// Listens from now on, mode 0600.
    /// - Throws: `.system` where the socket cannot be made.
    public init(_ service: any ProgramService, at socket: ProgramSocket) throws(DesktopError) {
        do throws(SystemError) {
            listener = try SocketListener(
                in: socket.folder, named: socket.name, threads: ("programs", "program"),
                limit: Self.maxConnections
            ) { ProgramConversation($0, service).run() }
        } catch {
            throw DesktopError(error)
        }
    }

    /// Hears nobody any longer, and hangs up.
    public func stop() {
        listener.stop()
        listener.hangUp()
    }
}
