import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Network

@Suite("Servers of connections with blocks")
struct BlockServerTests {
    @Test("an error ends only its connection")
    func throwing() async throws {
        struct Failed: Error {}
        let place = try BlockPlace { connection in
            while try connection.stream.receive().map({ $0[0] }) != 9 {
                if connection.isStopping { return }
                connection.stream.wait(atMost: .seconds(1))
            }
            throw Failed()
        }
        let (one, other) = (try place.connect(), try place.connect())
        try one.send(BlockPlace.block(9))
        #expect(try one.end() == .closed)
        try await wait(until: "its thread has ended") { place.server.connectionCount == 1 }
        try other.send(BlockPlace.block(1))
        #expect(try other.receive() == nil && !other.isBroken)
        await place.server.stop()
    }

    @Test("wrong protocols and identities are refused")
    func strangers() async throws {
        let served = Lock(0)
        let place = try BlockPlace { connection in
            served.withLock { $0 += 1 }
            try echo(connection)
        }
        let foreign = await failure { try place.connect(protocols: ["other/1"]) }
        #expect(foreign == .handshake || foreign == .closed)
        #expect(
            await failure { try place.connect(fingerprint: [UInt8](repeating: 1, count: 32)) } == .identity)
        try await wait(until: "both are gone") { place.server.connectionCount == 0 }
        // One of two offered protocols is enough.
        let stream = try place.connect(protocols: ["other/1", "blocks/1"])
        try stream.send(BlockPlace.block(5))
        #expect(try stream.next() == BlockPlace.block(5))
        #expect(served.withLock { $0 } <= 2)
        stream.shutDown()
        await place.server.stop()
    }

    @Test("connections have a limit")
    func limit() async throws {
        let place = try BlockPlace(connections: 2, serve: echo)
        let streams = [try place.connect(), try place.connect()]
        for stream in streams {
            try stream.send(BlockPlace.block(1))
            #expect(try stream.next() == BlockPlace.block(1))
        }
        #expect(place.server.connectionCount == 2)
        #expect(await failure { try place.connect() } == .closed)
        streams[0].shutDown()
        try await wait(until: "there is one connection less") { place.server.connectionCount == 1 }
        let third = try place.connect()
        try third.send(BlockPlace.block(3))
        #expect(try third.next() == BlockPlace.block(3))
        await place.server.stop()
    }

    @Test("a silent client ends with the handshake's limit")
    func silentClient() async throws {
        let place = try BlockPlace(handshake: .milliseconds(50), serve: echo)
        let socket = try RawPeer.connectedSocket(to: place.server.endpoint)
        var requests = [pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)]
        poll(&requests, milliseconds: 60_000)
        var byte: UInt8 = 0
        #expect(recv(socket.descriptor, &byte, 1, 0) <= 0)
        try await wait(until: "nobody is served") { place.server.connectionCount == 0 }
        await place.server.stop()
    }

    @Test("stopping ends connections and waits for threads")
    func stopping() async throws {
        let (begun, ended) = (Lock(0), Lock(0))
        let place = try BlockPlace { connection in
            begun.withLock { $0 += 1 }
            defer { ended.withLock { $0 += 1 } }
            while !connection.isStopping { connection.stream.wait(atMost: nil) }
        }
        let streams = try (0..<3).map { _ in try place.connect() }
        try await wait(until: "all are served") { begun.withLock { $0 } == 3 }
        // One is in its handshake.
        let socket = try RawPeer.connectedSocket(to: place.server.endpoint)
        await place.server.stop()
        #expect(place.server.connectionCount == 0)
        #expect(ended.withLock { $0 } == 3)
        for stream in streams { #expect(try stream.end() == .closed) }
        #expect(await failure { try place.connect() } != nil)
        // A second stop has no effect.
        await place.server.stop()
        _ = socket
    }

    @Test("used ports and foreign addresses are errors")
    func listening() async throws {
        let place = try BlockPlace(serve: echo)
        let identity = try NewServerIdentity.make(.ed25519, hostName: "localhost").identity
        for (host, port) in [("127.0.0.1", place.server.endpoint.port), ("192.0.2.1", 0)] {
            let code = await failure {
                try BlockServer.start(
                    on: Endpoint(host: host, port: port), tls: TLSServerSettings(identity: identity),
                    size: 10,
                    connections: 1, handshake: .seconds(1)
                ) { _ in }
            }
            #expect(code == .configuration, "\(host):\(port)")
        }
        await place.server.stop()
    }
}
