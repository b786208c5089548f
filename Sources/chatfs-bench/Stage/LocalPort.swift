import Glibc
import Posix

/// TCP ports of 127.0.0.1, for programs that do not take the port 0.
enum LocalPort {
    /// A port that was free a moment ago.
    static func free() throws(SystemError) -> UInt16 {
        let socket = try makeSocket()
        var address = address(port: 0)
        try with(&address) { (generic, length) throws(SystemError) in
            try check("bind a socket") { bind(socket.descriptor, generic, length) }
            var length = length
            try check("ask for a port") { getsockname(socket.descriptor, generic, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Whether somebody takes connections there.
    static func isOpen(_ port: UInt16) throws(SystemError) -> Bool {
        let socket = try makeSocket()
        var address = address(port: port)
        var isOpen = false
        try with(&address) { (generic, length) throws(SystemError) in
            isOpen = connect(socket.descriptor, generic, length) == 0
        }
        return isOpen
    }

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
        var failure: SystemError?
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                do throws(SystemError) {
                    try body(generic, socklen_t(MemoryLayout<sockaddr_in>.size))
                } catch {
                    failure = error
                }
            }
        }
        if let failure { throw failure }
    }
}
