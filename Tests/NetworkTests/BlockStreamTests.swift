import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Network

@Suite("Connections with blocks")
struct BlockStreamTests {
    @Test("blocks arrive in order with one channel binding")
    func order() async throws {
        let bindings = Lock<[[UInt8]]>([])
        let place = try BlockPlace { connection in
            bindings.withLock { $0.append(connection.stream.channelBinding) }
            #expect(connection.stream.peerCertificates.isEmpty, "clients show nothing")
            try echo(connection)
        }
        let stream = try place.connect()
        for byte in 0..<200 { try stream.send(BlockPlace.block(UInt8(byte))) }
        for byte in 0..<200 { #expect(try stream.next() == BlockPlace.block(UInt8(byte))) }
        #expect(stream.channelBinding.count == 32)
        #expect(bindings.withLock { $0 } == [stream.channelBinding])
        #expect(stream.peerCertificates.count == 2 && !stream.hasUnsent && !stream.isBroken)
        stream.shutDown()
        await place.server.stop()
    }

    @Test("blocks before the end arrive before the error")
    func goodbye() async throws {
        let place = try BlockPlace { connection in
            for byte in [UInt8(1), 2, 3] { try connection.stream.send(BlockPlace.block(byte)) }
        }
        let stream = try place.connect()
        for byte in [UInt8(1), 2, 3] { #expect(try stream.next() == BlockPlace.block(byte)) }
        #expect(try stream.end() == .closed)
        // The same at each further call.
        #expect(try stream.end() == .closed)
        await place.server.stop()
    }

    @Test("ringing the event ends a wait and clears the event")
    func wakingUp() async throws {
        let place = try BlockPlace(serve: echo)
        let wakeUp = try WakeUp()
        let stream = try place.connect(wakeUp: wakeUp)
        for _ in 0..<3 {
            wakeUp.notify()
            // Without limit, if it were not rung.
            stream.wait(receives: false, atMost: nil)
        }
        var requests = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        #expect(poll(&requests, milliseconds: 0) == 0)
        stream.wait(atMost: .zero)
        #expect(!stream.isBroken)
        await place.server.stop()
    }

    @Test("a waiting thread notices a reset")
    func reset() async throws {
        let mayEnd = Lock(false)
        let place = try BlockPlace { connection in
            while !connection.isStopping, !mayEnd.withLock({ $0 }) {
                connection.stream.wait(atMost: .milliseconds(50))
            }
            throw NetworkError(.closed, "The test wanted it so.")
        }
        let stream = try place.connect()
        // Unread bytes make the server's close a reset.
        for _ in 0..<20 { try stream.send(BlockPlace.block(1)) }
        mayEnd.withLock { $0 = true }
        try await wait(until: "the connection is found to be over") {
            stream.wait(receives: false, atMost: .milliseconds(50))
            return stream.isBroken
        }
        await place.server.stop()
    }

    @Test("unread blocks wait for a slow reader")
    func slowReader() async throws {
        let reads = Lock(false)
        let received = Lock(0)
        let place = try BlockPlace { connection in
            while !connection.isStopping {
                guard reads.withLock({ $0 }) else {
                    connection.stream.wait(receives: false, atMost: .milliseconds(20))
                    continue
                }
                if try connection.stream.receive() != nil {
                    received.withLock { $0 += 1 }
                } else {
                    connection.stream.wait(atMost: .milliseconds(20))
                }
            }
        }
        let stream = try place.connect()
        var sent = 0
        while !stream.hasUnsent, sent < 100_000 {
            try stream.send(BlockPlace.block(7))
            sent += 1
        }
        #expect(stream.hasUnsent && sent < 100_000, "the socket takes only so much")
        #expect(try !stream.flush())
        reads.withLock { $0 = true }
        try await wait(until: "all has left") {
            stream.wait(receives: false, atMost: .milliseconds(50))
            return try stream.flush()
        }
        #expect(!stream.hasUnsent)
        try await wait(until: "all has come") { received.withLock { $0 } == sent }
        await place.server.stop()
    }

    @Test("forbidden addresses are never connected to")
    func mayReach() async throws {
        let place = try BlockPlace(serve: echo)
        let asked = Lock<[[UInt8]]>([])
        let refused = await failure {
            try place.connect(mayReach: { octets in
                asked.withLock { $0.append(octets) }
                return false
            })
        }
        #expect(refused == .notAllowed)
        #expect(asked.withLock { $0 } == [[127, 0, 0, 1]])
        #expect(place.server.connectionCount == 0, "nobody came")
        let stream = try place.connect(mayReach: { $0 == [127, 0, 0, 1] })
        stream.shutDown()
        await place.server.stop()
    }

    @Test("connecting ends when cancelled and at its deadline")
    func givingUp() async throws {
        func connect(timeout: Duration, stop: WakeUp) throws -> BlockStream {
            try BlockStream.connect(
                to: RawServer.accepting(RawServer.hold).endpoint,
                tls: TLSClientSettings(identityFingerprint: []), size: 10,
                timeout: timeout, stop: stop, wakeUp: WakeUp())
        }
        let silent = try WakeUp()
        #expect(await failure { try connect(timeout: .milliseconds(50), stop: silent) } == .timeout)
        let rung = try WakeUp()
        rung.notify()
        #expect(await failure { try connect(timeout: .seconds(600), stop: rung) } == .cancelled)
    }

}
