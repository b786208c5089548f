import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Network

@Suite struct HostileClientTests {
    /// Checks that the server still serves the next client.
    private func stillServes(_ place: Place) async throws {
        let client = try await place.connect()
        let answer = try await client.ask(Array("ewell".utf8))
        #expect(answer == Array("ewell".utf8))
        client.close()
        await place.server.stop()
    }

    @Test(arguments: [
        Array("GET / HTTP/1.1\r\nHost: relay\r\n\r\n".utf8),
        Frame.preface + [0xff, 0xff, 0xff, 9, 9, 9, 9, 9, 9],
        Frame.preface + Frame.settings + Frame.make(1, flags: 5, stream: 1, [0xff, 0xff, 0xff]),
        Frame.preface + Frame.settings + Frame.headers(stream: 2),
        Frame.preface + Frame.settings + Frame.data(stream: 1, [1]),
        Frame.preface + Frame.data(stream: 0, [1, 2, 3]),
        [UInt8](repeating: 0, count: 4096),
    ])
    func garbageEndsOnlyItsOwnConnection(_ garbage: [UInt8]) async throws {
        let place = try Place.open()
        let peer = try RawPeer.connect(to: place)
        try peer.say(garbage)
        #expect(peer.hearsTheEnd())
        try await stillServes(place)
    }

    @Test func headersWithoutEndAreRefused() async throws {
        let place = try Place.open()
        let peer = try RawPeer.connect(to: place)
        // A literal field of 100 bytes, repeated in a chain of CONTINUATION frames.
        let field: [UInt8] =
            [0x00, 1, UInt8(ascii: "x"), 96] + [UInt8](repeating: UInt8(ascii: "y"), count: 96)
        let fields = [[UInt8]](repeating: field, count: 100).flatMap { $0 }
        try peer.say(
            Frame.preface + Frame.settings + Frame.make(1, stream: 1, Frame.requestFields)
                + Frame.make(9, stream: 1, fields))
        #expect(peer.hearsTheEnd())
        try await stillServes(place)
    }

    @Test(arguments: ["pings", "settings", "resets", "empty data", "priorities"])
    func floodsEndTheirConnection(_ kind: String) async throws {
        let place = try Place.open()
        let peer = try RawPeer.connect(to: place)
        var hasEnded = false
        do {
            try peer.say(Frame.preface + Frame.settings + Frame.headers(stream: 1))
            for round in 0..<400 as Range<UInt32> {
                var bytes: [UInt8] = []
                for number in 0..<100 as Range<UInt32> {
                    let stream = 3 + 2 * (round * 100 + number)
                    switch kind {
                    case "pings": bytes += Frame.ping
                    case "settings": bytes += Frame.settings
                    case "resets": bytes += Frame.headers(stream: stream) + Frame.reset(stream: stream)
                    case "empty data": bytes += Frame.data(stream: 1, [])
                    default: bytes += Frame.make(2, stream: 1, [0, 0, 0, 0, 1])
                    }
                }
                try peer.say(bytes)
            }
        } catch {
            hasEnded = true
        }
        #expect(hasEnded || peer.hearsTheEnd())
        try await stillServes(place)
    }

    @Test func aMissingHandshakeEndsTheConnection() async throws {
        var limits = HTTP2ServerLimits()
        limits.handshake = .milliseconds(200)
        let place = try Place.open(limits: limits)
        let socket = try RawPeer.connectedSocket(to: place.server.endpoint)
        let isReadable = try socket.wait(
            for: Int16(POLLIN), until: Deadline(after: .seconds(20)), stop: WakeUp())
        var byte: UInt8 = 0
        #expect(isReadable && recv(socket.descriptor, &byte, 1, 0) <= 0)
        try await stillServes(place)
    }

    @Test func anEndlessBodyEndsTheConnection() async throws {
        var limits = HTTP2ServerLimits()
        limits.request = .milliseconds(300)
        let place = try Place.open(limits: limits)
        let peer = try RawPeer.connect(to: place)
        try peer.say(Frame.preface + Frame.settings + Frame.headers(stream: 1) + Frame.data(stream: 1, [1]))
        #expect(peer.hearsTheEnd())
        try await wait(until: "the exchange is given up") { place.handler.abandoned.withLock { $0 } == 1 }
        try await stillServes(place)
    }

    @Test func aSilentConnectionIsClosedInTheEnd() async throws {
        var limits = HTTP2ServerLimits()
        limits.idle = .milliseconds(200)
        let place = try Place.open(limits: limits)
        let client = try await place.connect()
        try await wait(until: "the client knows that the server closed") { !client.isOpen }
        await place.server.stop()
    }

    @Test func anUnreadAnswerEndsTheConnection() async throws {
        var limits = HTTP2ServerLimits()
        limits.stall = .milliseconds(300)
        let place = try Place.open(limits: limits)
        let peer = try RawPeer.connect(to: place)
        // A window of 64 KiB, a body of 64 MiB, and no further credit.
        try peer.say(
            Frame.preface + Frame.settings + Frame.headers(stream: 1)
                + Frame.data(stream: 1, ends: true, count(64 << 20)))
        #expect(peer.hearsTheEnd())
        try await stillServes(place)
    }

    /// An unread answer holds resources despite other traffic on its connection.
    @Test(arguments: ["pings", "requests"])
    func anUnreadAnswerEndsAlsoABusyConnection(_ kind: String) async throws {
        var limits = HTTP2ServerLimits()
        limits.stall = .seconds(1)
        let place = try Place.open(limits: limits)
        let peer = try RawPeer.connect(to: place)
        try peer.say(
            Frame.preface + Frame.settings + Frame.headers(stream: 1)
                + Frame.data(stream: 1, ends: true, count(64 << 20)))
        var hasEnded = false
        for number in 0..<100 as Range<UInt32> where !hasEnded {
            let more =
                kind == "pings"
                ? Frame.ping
                // Answered with a body of 1 byte; the connection's window is opened for it.
                : Frame.headers(stream: 3 + 2 * number)
                    + Frame.data(stream: 3 + 2 * number, ends: true, [UInt8(ascii: "e")])
                    + Frame.make(8, [0, 0, 0, 1])
            do { try peer.say(more) } catch { hasEnded = true }
            usleep(100_000)
        }
        #expect(hasEnded)
        try await stillServes(place)
    }

    /// Each key update needs an answer, which waits here if the client does not read.
    @Test func keyUpdatesWithoutReadingEndTheConnection() async throws {
        let place = try Place.open()
        let updater = try KeyUpdater(to: place)
        // An answer that fills the buffers of both kernels, with the maximum credit.
        try updater.say(
            Frame.preface + Frame.make(4, [0, 4, 0x7F, 0xFF, 0xFF, 0xFF]) + Frame.headers(stream: 1)
                + Frame.data(stream: 1, ends: true, count(1 << 30)) + Frame.make(8, [0x7F, 0, 0, 0]))
        // Each is a record of 27 bytes, so both directions stay below a mebibyte.
        var hasEnded = false
        for _ in 0..<38_000 where !hasEnded {
            do { try updater.updateKeys() } catch { hasEnded = true }
        }
        #expect(hasEnded)
        try await wait(until: "the connection is gone", within: .seconds(20)) {
            place.server.connectionCount == 0
        }
        try await stillServes(place)
    }

    @Test func moreConnectionsThanAllowedAreClosed() async throws {
        var limits = HTTP2ServerLimits()
        limits.connections = 2
        let place = try Place.open(limits: limits)
        let first = try await place.connect()
        let second = try await place.connect()
        let code = await failure { try await place.connect() }
        #expect(code == .closed)
        let answer = try await first.ask(Array("e".utf8))
        #expect(answer == Array("e".utf8))
        second.close()
        try await wait(until: "there is room again") { place.server.connectionCount < 2 }
        try await stillServes(place)
    }

    @Test func connectionsOfOneAddressAreLimited() async throws {
        var limits = HTTP2ServerLimits()
        limits.connectionsOfPeer = 2
        let place = try Place.open(limits: limits)
        let first = try await place.connect()
        let second = try await place.connect()
        let code = await failure { try await place.connect() }
        #expect(code == .closed)
        let answer = try await first.ask(Array("e".utf8))
        #expect(answer == Array("e".utf8))
        second.close()
        try await wait(until: "there is room again") { place.server.connectionCount < 2 }
        try await stillServes(place)
    }

    @Test func theDocumentedLimitsAreTheDefault() {
        let limits = HTTP2ServerLimits()
        #expect(limits.connections == 320 && limits.connectionsOfPeer == 256 && HTTP2Limits.streams == 16)
        #expect(limits.handshake == .seconds(30) && limits.request == .seconds(300))
        #expect(limits.stall == .seconds(120))
    }

    @Test(arguments: [[], ["h2"], ["http/1.1", "xftp/2"]])
    func otherProtocolsAreRefused(_ protocols: [String]) async throws {
        let place = try Place.open()
        var isRefused = false
        do {
            isRefused = try RawPeer.connect(to: place, protocols: protocols).hearsTheEnd()
        } catch let error as NetworkError {
            isRefused = error.code == .handshake
        }
        #expect(isRefused)
        try await stillServes(place)
    }

    @Test func aVanishedUploadLeavesNothingBehind() async throws {
        let place = try Place.open()
        let peer = try RawPeer.connect(to: place)
        try peer.say(
            Frame.preface + Frame.settings + Frame.headers(stream: 1) + Frame.data(stream: 1, [1, 2, 3]))
        try await wait(until: "the connection is there") { place.server.connectionCount == 1 }
        shutdown(peer.stream.socket.descriptor, Int32(SHUT_RDWR))
        try await wait(until: "the connection is gone") { place.server.connectionCount == 0 }
        #expect(place.handler.abandoned.withLock { $0 } <= 1)
        try await stillServes(place)
    }

    @Test func stoppingTheServerEndsOpenConnections() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        let asking = Task { await failure { try await client.ask(count(1 << 40)) } }
        try await wait(until: "the connection is there") { place.server.connectionCount == 1 }
        await place.server.stop()
        let code = await asking.value
        #expect(code == .closed || code == .protocolViolation)
        let later = await failure { try await place.connect(timeout: .seconds(5)) }
        #expect(later != nil)
    }
}
