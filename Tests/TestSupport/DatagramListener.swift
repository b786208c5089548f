import Glibc
import Posix

/// A datagram socket on which a service manager or a journal would listen.
public final class DatagramListener: Sendable {
    public let path: String
    private let socket: OpenFile

    /// - Parameter path: absolute; no file is there.
    public init(path: String) throws {
        self.path = path
        socket = OpenFile(
            adopting: try check("make a socket") {
                Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            })
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8CString)
        guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            throw SystemError(code: ENAMETOOLONG, operation: "bind")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            name.withUnsafeBytes { target.copyMemory(from: $0) }
        }
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = try check("bind") {
                    bind(socket.descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
    }

    /// The next datagram that has come; nil if there is none.
    public func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// All that have come, one after another.
    public func all() -> String {
        var text = ""
        while let next = next() { text += next }
        return text
    }
}
