import Base
import Glibc
import Posix

/// A loopback server without expected clients: counts connections and closes them.
public final class LoopbackListener: Sendable {
    private let listener: Int32
    private let state = Lock(0)

    /// The number of connections.
    public var count: Int { state.withLock { $0 } }

    public init(port: UInt16) throws {
        (listener, _) = try Self.listen(port: port)
        Thread.start("listener") { [listener, state] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                state.withLock { $0 += 1 }
                close(client)
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Returns a listening socket; port 0 selects a free port.
    static func listen(port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = try check("make a socket") { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try check("bind") { bind(descriptor, address, length) }
                try check("listen") { Glibc.listen(descriptor, 16) }
                try check("look at a socket") { getsockname(descriptor, address, &length) }
            }
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}
