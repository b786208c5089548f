import Glibc
import Posix

/// TCP ports of 127.0.0.1.
enum LocalPort {
    /// Returns a port that was free a moment ago, for programs that do not accept port 0.
    static func free() throws(SystemError) -> UInt16 { try number(of: bound()) }

    /// Returns a socket that listens on a port of the system's choice.
    /// - Parameter buffer: The kernel's buffer for each connection and direction in bytes.
    static func listen(buffer: Int) throws(SystemError) -> OpenFile {
        let socket = try bound()
        limit(socket, to: buffer)
        try check("listen") { Glibc.listen(socket.descriptor, 64) }
        return socket
    }

    /// Connects to a listening port.
    static func connect(_ port: UInt16, buffer: Int) throws(SystemError) -> OpenFile {
        let socket = try makeSocket()
        limit(socket, to: buffer)
        var address = address(port: port)
        try with(&address) { (generic, length) throws(SystemError) in
            try check("connect") { Glibc.connect(socket.descriptor, generic, length) }
        }
        return socket
    }

    /// Returns the port of a bound socket.
    static func number(of socket: OpenFile) throws(SystemError) -> UInt16 {
        var address = address(port: 0)
        try with(&address) { (generic, length) throws(SystemError) in
            var length = length
            try check("ask for a port") { getsockname(socket.descriptor, generic, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Sends small pieces at once.
    static func sendWithoutDelay(_ socket: OpenFile) { set(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }

    private static func limit(_ socket: OpenFile, to buffer: Int) {
        set(socket, SOL_SOCKET, SO_RCVBUF, Int32(buffer))
        set(socket, SOL_SOCKET, SO_SNDBUF, Int32(buffer))
    }

    private static func set(_ socket: OpenFile, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(socket.descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func bound() throws(SystemError) -> OpenFile {
        let socket = try makeSocket()
        var address = address(port: 0)
        try with(&address) { (generic, length) throws(SystemError) in
            try check("bind a socket") { bind(socket.descriptor, generic, length) }
        }
        return socket
    }

    /// Returns whether a server accepts connections there.
    static func isOpen(_ port: UInt16) -> Bool { (try? connect(port, buffer: 1 << 16)) != nil }

    private static func makeSocket() throws(SystemError) -> OpenFile {
        OpenFile(
            adopting: try check("make a socket") { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) })
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return address
    }

    private static func with(
        _ address: inout sockaddr_in,
        _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) throws(SystemError) -> Void
    ) throws(SystemError) {
        try withUnsafeMutablePointer(to: &address) { (pointer) throws(SystemError) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (generic) throws(SystemError) in
                try body(generic, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
