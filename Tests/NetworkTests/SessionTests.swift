import Base
import Testing

@testable import Network

/// Two sessions without a network.
@Suite struct SessionTests {
    /// Echoes on a server, collects on a client.
    final class Events: HTTP2SessionEvents {
        var session: HTTP2Session?
        var answers = false
        var bodies: [Int32: [UInt8]] = [:]
        var ended: Set<Int32> = []
        var closed: [Int32] = []

        func headersArrived(stream: Int32, status: Int?) { bodies[stream] = [] }
        func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) {
            bodies[stream, default: []].append(contentsOf: bytes)
        }
        func messageEnded(stream: Int32) throws {
            ended.insert(stream)
            if answers {
                try session?.submitResponse(stream: stream, body: BytesBody(bodies[stream] ?? []))
            }
        }
        func streamClosed(stream: Int32, error: UInt32) { closed.append(stream) }
    }

    static func side(_ role: HTTP2Session.Role) throws -> (HTTP2Session, Events) {
        let events = Events()
        let session = try HTTP2Session(role: role, events: events)
        events.session = session
        events.answers = role == .server
        return (session, events)
    }

    /// Returns a session's pending output.
    static func said(by session: HTTP2Session) throws -> [UInt8] {
        var bytes: [UInt8] = []
        let queue = ByteQueue(capacity: 100_000)
        while true {
            queue.removeAll()
            try session.fill(queue)
            if queue.isEmpty { return bytes }
            bytes += queue.bytes
        }
    }

    @Test func aRequestAndItsAnswerPassTwoSessions() throws {
        let (client, clientEvents) = try Self.side(.client)
        let (server, serverEvents) = try Self.side(.server)
        defer {
            clientEvents.session = nil
            serverEvents.session = nil
        }
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let stream = try client.submitRequest(authority: "relay:443", body: BytesBody(body))
        #expect(client.hasUnsentBody(stream: stream))
        for _ in 0..<20 {
            try Self.said(by: client).withUnsafeBytes { try server.receive($0) }
            try Self.said(by: server).withUnsafeBytes { try client.receive($0) }
        }
        #expect(serverEvents.bodies[stream] == body)
        #expect(clientEvents.bodies[stream] == body)
        #expect(clientEvents.ended == [stream])
        #expect(clientEvents.closed == [stream] && serverEvents.closed == [stream])
        #expect(!client.isFinished && !server.isFinished)
        client.goAway()
        try Self.said(by: client).withUnsafeBytes { try server.receive($0) }
        #expect(client.isFinished)
        #expect(server.isGoingAway)
    }

    @Test func streamResetBeforeItsAnswerClosesOnce() throws {
        let (client, clientEvents) = try Self.side(.client)
        let (server, serverEvents) = try Self.side(.server)
        defer {
            clientEvents.session = nil
            serverEvents.session = nil
        }
        let stream = try client.submitRequest(authority: "h", body: BytesBody(Array("hello".utf8)))
        // The server has submitted its answer and sent nothing when the reset comes.
        let reset: [UInt8] = [0, 0, 4, 3, 0, 0, 0, 0, UInt8(stream), 0, 0, 0, 8]
        try (Self.said(by: client) + reset).withUnsafeBytes { try server.receive($0) }
        #expect(serverEvents.ended == [stream])
        _ = try Self.said(by: server)
        #expect(serverEvents.closed == [stream])
    }

    @Test func piecesOfAnySizeMeanTheSame() throws {
        let (client, clientEvents) = try Self.side(.client)
        let (server, serverEvents) = try Self.side(.server)
        defer {
            clientEvents.session = nil
            serverEvents.session = nil
        }
        _ = try client.submitRequest(authority: "h", body: BytesBody(Array("hello".utf8)))
        for byte in try Self.said(by: client) { try [byte].withUnsafeBytes { try server.receive($0) } }
        #expect(serverEvents.bodies[1] == Array("hello".utf8))
    }

    @Test func mutatedBytesNeverHarmASession() throws {
        let (client, clientEvents) = try Self.side(.client)
        defer { clientEvents.session = nil }
        for number in 0..<4 {
            let body = [UInt8](repeating: UInt8(number), count: number * 700)
            _ = try client.submitRequest(authority: "relay:443", body: BytesBody(body))
        }
        let honest = try Self.said(by: client)
        var generator = SplitMix(state: 42)
        var refused = 0
        for _ in 0..<3000 {
            var bytes = honest
            for _ in 0...Int(generator.next() % 4) {
                let position = Int(generator.next() % UInt64(min(bytes.count, 400)))
                switch generator.next() % 3 {
                case 0: bytes[position] ^= 1 << UInt8(generator.next() % 8)
                case 1: bytes.remove(at: position)
                default: bytes.insert(UInt8(truncatingIfNeeded: generator.next()), at: position)
                }
            }
            let (server, events) = try Self.side(.server)
            defer { events.session = nil }
            do {
                try bytes.withUnsafeBytes { try server.receive($0) }
                _ = try Self.said(by: server)
            } catch {
                refused += 1
            }
        }
        #expect(refused > 0)
    }

    @Test func aSourceIsReadOnlyWithinTheWindow() throws {
        let (client, clientEvents) = try Self.side(.client)
        defer { clientEvents.session = nil }
        _ = try client.submitRequest(authority: "h", body: Zeros(length: 10 << 20))
        // Without input from the server: a window of 64 KiB, frames of 16 KiB.
        #expect(try Self.said(by: client).count < 66_000)
    }
}
