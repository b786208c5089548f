import Base
import CLinux
import Glibc
import Posix

/// The control socket of a mounted profile: a Unix socket in the profile's directory (mode 0700). Any process with
/// access to the data finds it, independent of XDG_RUNTIME_DIR.
///
/// An address holds 107 bytes (unix(7)). The directory is therefore addressed through its descriptor,
/// `/proc/self/fd/N/control`, which is short for any path.
enum ControlSocket {
    static let name = "control"

    /// Creates the socket.
    /// - Parameter name: Name of the socket. An existing socket is replaced, because only a killed process can have
    ///   left it.
    static func listen(in folder: OpenFile, named name: String) throws(SystemError) -> OpenFile {
        unlinkat(folder.descriptor, name, 0)
        let socket = try make()
        try withAddress(in: folder, name) { (address, length) throws(SystemError) in
            _ = try check("make a control socket") { bind(socket.descriptor, address, length) }
        }
        try check("close the control socket to others") { fchmodat(folder.descriptor, name, 0o600, 0) }
        try check("listen on the control socket") { Glibc.listen(socket.descriptor, 16) }
        return socket
    }

    /// Returns nil if no process listens.
    /// - Throws: `.system`.
    static func connect(in folder: OpenFile, named name: String = name) throws(DesktopError) -> OpenFile? {
        do throws(SystemError) {
            return try connected(in: folder, name)
        } catch {
            throw DesktopError(error)
        }
    }

    private static func connected(in folder: OpenFile, _ name: String) throws(SystemError) -> OpenFile? {
        let socket = try make()
        return try withAddress(in: folder, name) { (address, length) throws(SystemError) in
            // The queue of connections is full only briefly.
            for _ in 0..<100 {
                if Glibc.connect(socket.descriptor, address, length) == 0 { return socket }
                switch errno {
                case ENOENT, ECONNREFUSED: return nil
                case EAGAIN: usleep(50_000)
                case EINTR: continue
                default: throw SystemError(code: errno, operation: "reach the mount's process")
                }
            }
            throw SystemError(code: EAGAIN, operation: "reach the mount's process")
        }
    }

    /// - Throws: `.system`.
    static func openFolder(_ path: String) throws(DesktopError) -> OpenFile {
        do throws(SystemError) {
            return try OpenFile(path, flags: chatfs_o_path | chatfs_o_directory | chatfs_o_nofollow)
        } catch {
            throw DesktopError(error)
        }
    }

    private static func make() throws(SystemError) -> OpenFile {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        return OpenFile(adopting: try check("make a socket") { socket(AF_UNIX, type, 0) })
    }

    private static func withAddress<Result>(
        in folder: OpenFile, _ name: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array("/proc/self/fd/\(folder.descriptor)/\(name)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        return try withUnsafePointer(to: &address) { (pointer) throws(SystemError) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (generic) throws(SystemError) in
                try body(generic, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
