import Glibc
import Posix
import Testing

@testable import Network

/// Connections whose peer vanishes.
@Suite struct PeerWatchTests {
    /// The seconds for which a reader waits for bytes.
    private static let timeout: Int32 = 30

    /// Options of linux/tcp.h.
    private enum Option {
        static let keepIdle: Int32 = 4
        static let keepInterval: Int32 = 5
        static let keepCount: Int32 = 6
        static let userTimeout: Int32 = 18
    }

    @Test func theKernelEndsADeadConnectionBeforeTheDeadline() throws {
        let (client, server) = try connected()
        for socket in [client, server] {
            #expect(try value(of: SO_KEEPALIVE, SOL_SOCKET, socket) == 1)
            let idle = try value(of: Option.keepIdle, Int32(IPPROTO_TCP), socket)
            let interval = try value(of: Option.keepInterval, Int32(IPPROTO_TCP), socket)
            let count = try value(of: Option.keepCount, Int32(IPPROTO_TCP), socket)
            #expect(idle > 0 && idle + interval * count <= Self.timeout / 2)
        }
    }

    @Test func anUnacknowledgedRequestEndsBeforeTheDeadline() throws {
        let (client, server) = try connected()
        let milliseconds = try value(of: Option.userTimeout, Int32(IPPROTO_TCP), client)
        #expect(milliseconds > 0 && milliseconds <= Self.timeout * 1000 / 2)
        // A client may read slowly.
        #expect(try value(of: Option.userTimeout, Int32(IPPROTO_TCP), server) == 0)
    }

    private func connected() throws -> (client: Socket, server: Socket) {
        let listener = try Socket.listen(
            on: SocketAddress.resolve(
                Endpoint(host: "127.0.0.1", port: 0), numericOnly: true, listening: true))
        let client = try RawPeer.connectedSocket(
            to: Endpoint(host: "127.0.0.1", port: listener.localPort()))
        var requests = [pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)]
        poll(&requests, milliseconds: 20_000)
        return (client, try #require(try listener.accept()))
    }

    private func value(of option: Int32, _ level: Int32, _ socket: Socket) throws -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        try #require(getsockopt(socket.descriptor, level, option, &value, &length) == 0)
        return value
    }
}
