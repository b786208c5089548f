import Base
import Posix
import TestSupport
import Testing

@testable import Network

@Suite struct GivingUpTests {
    @Test func cancellingATaskClosesTheConnection() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        let sink = CountingSink()
        let task = Task {
            await failure {
                try await client.send(BytesBody(count(1 << 40)), to: sink, deadline: .seconds(600))
            }
        }
        try await wait(until: "the download runs") { sink.count > 1 << 20 }
        task.cancel()
        let code = await task.value
        #expect(code == .cancelled)
        #expect(!client.isOpen)
        // The sink is never used again.
        let received = sink.count
        try await wait(until: "the server has noticed") { place.server.connectionCount == 0 }
        #expect(sink.count == received)
        await place.server.stop()
    }

    @Test func aTaskCancelledBeforehandSendsNothing() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { try await client.ask(Array("e".utf8)) }
        }
        let code = await task.value
        #expect(code == .cancelled)
        let answer = try await client.ask(Array("e".utf8))
        #expect(answer == Array("e".utf8))
        await place.server.stop()
    }

    @Test func cancellingStopsConnecting() async throws {
        let server = try RawServer.accepting { socket in
            try RawServer.hold(socket)
        }
        let task = Task { await failure { try await server.connect(timeout: .seconds(600)) } }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        let code = await task.value
        #expect(code == .cancelled)
    }

    @Test func aSourceThatThrowsFailsItsRequestWithItsOwnError() async throws {
        struct Broken: Error {}
        final class Source: BodySource {
            let length = 1 << 20
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
                throw Broken()
            }
        }
        let place = try Place.open()
        let client = try await place.connect()
        do {
            try await client.send(Source(), to: CountingSink(), deadline: .seconds(20))
            Issue.record("sent")
        } catch {
            #expect(error.code == .body)
            #expect(error.cause is Broken)
        }
        #expect(!client.isOpen)
        await place.server.stop()
    }

    @Test func aSourceThatEndsTooSoonIsAnError() async throws {
        final class Source: BodySource {
            let length = 1 << 20
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int { 0 }
        }
        let place = try Place.open()
        let client = try await place.connect()
        let code = await failure {
            try await client.send(Source(), to: CountingSink(), deadline: .seconds(20))
        }
        #expect(code == .body)
        await place.server.stop()
    }

    /// A download that would never end. Its result is the code of its error.
    private func download(over client: HTTP2Client) async throws -> Task<NetworkErrorCode?, Never> {
        let sink = CountingSink()
        let task = Task {
            await failure {
                try await client.send(BytesBody(count(1 << 40)), to: sink, deadline: .seconds(600))
            }
        }
        try await wait(until: "the other download runs") { sink.count > 0 }
        return task
    }

    @Test func aSinkThatThrowsFailsItsRequestAndClosesTheOthers() async throws {
        struct Broken: Error {}
        final class Sink: BodySink {
            func receive(_ bytes: UnsafeRawBufferPointer) throws { throw Broken() }
        }
        let place = try Place.open()
        let client = try await place.connect()
        let other = try await download(over: client)
        do {
            try await client.send(BytesBody(count(10)), to: Sink(), deadline: .seconds(20))
            Issue.record("received")
        } catch {
            #expect(error.code == .body)
            #expect(error.cause is Broken)
        }
        let code = await other.value
        #expect(code == .closed)
        await place.server.stop()
    }

    @Test func aSourceThatThrowsClosesTheOthers() async throws {
        struct Broken: Error {}
        final class Source: BodySource {
            let length = 1 << 20
            let breaks: Bool
            init(breaks: Bool) { self.breaks = breaks }
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
                if breaks { throw Broken() }
                return 0
            }
        }
        for breaks in [true, false] {
            let place = try Place.open()
            let client = try await place.connect()
            let other = try await download(over: client)
            let code = await failure {
                try await client.send(Source(breaks: breaks), to: CountingSink(), deadline: .seconds(20))
            }
            #expect(code == .body)
            #expect(await other.value == .closed)
            await place.server.stop()
        }
    }

    @Test func aRefusalInMidUploadIsAnAnswerAndClosesTheConnection() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        let answer = CollectedBody(limit: 100)
        let body = JoinedBody([BytesBody([UInt8(ascii: "r")]), Zeros(length: 512 << 20)])
        try await client.send(body, to: answer, deadline: .seconds(60))
        #expect(answer.bytes == Array("no".utf8))
        try await wait(until: "the connection is closed") { !client.isOpen }
        await place.server.stop()
    }

    @Test func aRefusedUploadThatGoesOnLeavesTheConnectionUsable() async throws {
        let place = try Place.open()
        let peer = try RawPeer.connect(to: place)
        // More than the windows of one stream: without new credit the last bytes could not be sent.
        let piece = Frame.data(stream: 1, [UInt8](repeating: UInt8(ascii: "r"), count: 16_384))
        try peer.say(Frame.preface + Frame.settings + Frame.headers(stream: 1))
        for _ in 0..<256 { try peer.say(piece) }
        try peer.say(Frame.data(stream: 1, ends: true, [1]))
        try peer.say(Frame.headers(stream: 3) + Frame.data(stream: 3, ends: true, Array("eagain".utf8)))
        var heard: [UInt8] = []
        while !Hexadecimal.encode(heard).contains(Hexadecimal.encode(Array("eagain".utf8))) {
            heard += try #require(try peer.hear())
        }
        await place.server.stop()
    }

    @Test func closingFailsPendingRequests() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        let sink = CountingSink()
        let task = Task {
            await failure {
                try await client.send(BytesBody(count(1 << 40)), to: sink, deadline: .seconds(600))
            }
        }
        try await wait(until: "the download runs") { sink.count > 0 }
        client.close()
        let code = await task.value
        #expect(code == .closed)
        await place.server.stop()
    }

    @Test func droppingTheLastReferenceClosesTheConnection() async throws {
        let place = try Place.open()
        do {
            let client = try await place.connect()
            _ = try await client.ask(Array("e".utf8))
            #expect(place.server.connectionCount == 1)
        }
        try await wait(until: "the server has noticed") { place.server.connectionCount == 0 }
        await place.server.stop()
    }

    @Test func anAnswerBeyondTheLimitOfItsCollectorIsRefused() async throws {
        let place = try Place.open()
        let client = try await place.connect()
        let code = await failure {
            try await client.send(
                BytesBody(count(1000)), to: CollectedBody(limit: 999), deadline: .seconds(20))
        }
        #expect(code == .protocolViolation)
        await place.server.stop()
    }
}
