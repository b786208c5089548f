import Base
import Glibc
import Posix
import Testing

@testable import Network

@Suite struct HostileServerTests {
    @Test func aSilentServerEndsWithTheDeadline() async throws {
        let server = try RawServer.accepting { socket in
            // Holds the connection until the client gives up.
            try RawServer.hold(socket)
        }
        let code = await failure { try await server.connect(timeout: .milliseconds(300)) }
        #expect(code == .timeout)
    }

    @Test func anUnansweredRequestEndsWithTheDeadline() async throws {
        let server = try RawServer.speakingTLS { peer in
            try peer.say(Frame.settings)
            while try peer.hear() != nil {}
        }
        let client = try await server.connect()
        let code = await failure { try await client.ask([1], deadline: .milliseconds(300)) }
        #expect(code == .timeout)
        #expect(!client.isOpen)
        let later = await failure { try await client.ask([1]) }
        #expect(later == .closed)
    }

    @Test func aPortWithoutServerIsUnreachable() async throws {
        let server = try RawServer.accepting { _ in }
        // Uses up the port; it is free again afterwards.
        _ = await failure { try await server.connect(timeout: .seconds(5)) }
        let code = await failure { try await server.connect(timeout: .seconds(5)) }
        #expect(code == .unreachable || code == .closed)
    }

    @Test func aServerThatClosesAtOnceIsAClosedConnection() async throws {
        let server = try RawServer.accepting { _ in }
        let code = await failure { try await server.connect() }
        #expect(code == .closed)
    }

    @Test func garbageInsteadOfTLSIsAHandshakeError() async throws {
        let server = try RawServer.accepting { socket in
            let words = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
            _ = words.withUnsafeBytes { send(socket.descriptor, $0.baseAddress, $0.count, 0) }
            try RawServer.hold(socket)
        }
        let code = await failure { try await server.connect() }
        #expect(code == .handshake)
    }

    @Test(arguments: [
        Array("this is not HTTP/2 at all, by no means".utf8),
        Frame.settings + Frame.make(1, flags: 5, stream: 1, [0xff, 0xff, 0xff]),
        Frame.settings + Frame.data(stream: 7, [1, 2, 3]),
        Frame.settings + [0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1],
    ])
    func garbageInsteadOfHTTPIsAProtocolError(_ garbage: [UInt8]) async throws {
        let server = try RawServer.speakingTLS { peer in
            try peer.say(garbage)
            while try peer.hear() != nil {}
        }
        let client = try await server.connect()
        let code = await failure { try await client.ask([1], deadline: .seconds(20)) }
        #expect(code == .protocolViolation || code == .closed)
    }

    @Test func anotherStatusThanSuccessIsAnError() async throws {
        let server = try RawServer.speakingTLS { peer in
            try peer.say(Frame.settings)
            try peer.hearRequest()
            // `:status 404` from the static table.
            try peer.say(Frame.headers(stream: 1, ends: true, fields: [0x8d]))
            while try peer.hear() != nil {}
        }
        let client = try await server.connect()
        let code = await failure { try await client.ask([1], deadline: .seconds(20)) }
        #expect(code == .protocolViolation)
    }

    @Test func aConnectionCutInMidAnswerIsClosedNotShort() async throws {
        let server = try RawServer.speakingTLS { peer in
            try peer.say(Frame.settings)
            try peer.hearRequest()
            try peer.say(Frame.headers(stream: 1, fields: [0x88]) + Frame.data(stream: 1, [1, 2, 3]))
            // Ends without END_STREAM and without close_notify.
            shutdown(peer.stream.socket.descriptor, Int32(SHUT_RDWR))
        }
        let client = try await server.connect()
        let sink = CountingSink()
        let code = await failure {
            try await client.send(BytesBody([1]), to: sink, deadline: .seconds(20))
        }
        #expect(code == .closed)
    }

    @Test func aCompleteAnswerCountsDespiteLaterDamage() async throws {
        let server = try RawServer.speakingTLS { peer in
            try peer.say(Frame.settings)
            try peer.hearRequest()
            // They leave together, so one receive brings answer and damage.
            try peer.holdBack(true)
            try peer.say(
                Frame.headers(stream: 1, fields: [0x88]) + Frame.data(stream: 1, ends: true, [1, 2, 3]))
            let record: [UInt8] = [0x17, 3, 3, 0, 64] + [UInt8](repeating: 9, count: 64)
            _ = record.withUnsafeBytes {
                send(peer.stream.socket.descriptor, $0.baseAddress, $0.count, 0)
            }
            try peer.holdBack(false)
            _ = peer.hearsTheEnd()
        }
        let client = try await server.connect()
        #expect(try await client.ask([1], deadline: .seconds(20)) == [1, 2, 3])
    }

    @Test func aFloodOfPingsEndsTheConnection() async throws {
        let server = try RawServer.speakingTLS { peer in
            let pings = [[UInt8]](repeating: Frame.ping, count: 100).flatMap { $0 }
            try peer.say(Frame.settings)
            for _ in 0..<1000 { try peer.say(pings) }
        }
        let client = try await server.connect()
        let code = await failure { try await client.ask([1], deadline: .seconds(20)) }
        #expect(code == .protocolViolation || code == .closed)
    }

    @Test func alteredBytesOfTLSEndTheConnection() async throws {
        let server = try RawServer.speakingTLS { peer in
            try peer.say(Frame.settings)
            try peer.hearRequest()
            // A record of application data with the wrong key.
            let record: [UInt8] = [0x17, 3, 3, 0, 64] + [UInt8](repeating: 9, count: 64)
            _ = record.withUnsafeBytes {
                send(peer.stream.socket.descriptor, $0.baseAddress, $0.count, 0)
            }
            _ = peer.hearsTheEnd()
        }
        let client = try await server.connect()
        let code = await failure { try await client.ask([1], deadline: .seconds(20)) }
        #expect(code == .protocolViolation)
    }
}
