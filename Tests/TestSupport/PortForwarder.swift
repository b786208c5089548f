import Base
import Glibc
import Network
import Posix

/// Forwards connections from a port of loopback to another one, as a router does.
public final class PortForwarder: Sendable {
    public let port: UInt16
    private let listener: Int32

    public init(to target: UInt16) throws {
        (listener, port) = try LoopbackListener.listen(port: 0)
        Thread.start("forward") { [listener] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                guard let server = SOCKSServer.connected(to: Endpoint(host: "127.0.0.1", port: target)) else {
                    close(client)
                    continue
                }
                Thread.start("forward-back") { SOCKSServer.pump(server, client) }
                Thread.start("forward-on") { SOCKSServer.pump(client, server) }
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
