import Base
import CLinux
import Glibc
import Posix

/// The directory `unlocked` of a data directory, with a socket for each process that holds the key, named after its
/// process id. All calls block.
enum KeyFolder {
    static let name = "unlocked"

    /// Opens or creates the directory, and removes sockets of killed processes.
    /// - Throws: EACCES if other users have access to the directory.
    static func make(in dataFolder: String) throws(SystemError) -> OpenFile {
        let data = try OpenFile(dataFolder, flags: O_RDONLY | O_DIRECTORY)
        let folder = try PrivateFolder.folder(name, in: data)
        let status = try folder.status()
        guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw SystemError(code: EACCES, operation: "use the folder of holders of the key")
        }
        for name in try PrivateFolder.names(in: folder) {
            guard let process = pid_t(name), process != getpid(), kill(process, 0) == -1, errno == ESRCH
            else {
                continue
            }
            unlinkat(folder.descriptor, name, 0)
        }
        return folder
    }

    /// Returns true if the process accepts connections, or may accept them.
    static func isListening(_ process: pid_t, in dataFolder: String) -> Bool {
        guard let folder = try? ControlSocket.openFolder(dataFolder + "/" + name) else { return false }
        do throws(DesktopError) {
            return try ControlSocket.connect(in: folder, named: "\(process)") != nil
        } catch {
            return true
        }
    }

    /// Connects to all holders, newest process first. Skips processes of other users.
    static func holders(in dataFolder: String) -> [(process: pid_t, channel: ControlChannel)] {
        guard let folder = try? ControlSocket.openFolder(dataFolder + "/" + name),
            let names = try? PrivateFolder.names(at: dataFolder + "/" + name)
        else { return [] }
        return names.compactMap { pid_t($0) }.sorted(by: >).compactMap { process in
            guard let socket = try? ControlSocket.connect(in: folder, named: "\(process)") else { return nil }
            var user: UInt32 = .max
            var peer: Int32 = 0
            guard chatfs_peer_credentials(socket.descriptor, &user, &peer) == 0, user == geteuid() else {
                return nil
            }
            return (process, ControlChannel(socket, timeout: .seconds(3)))
        }
    }
}
