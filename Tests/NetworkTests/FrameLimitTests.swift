import Base
import Testing

@testable import Network

/// What a peer's frames may cost, and what is made of headers that nobody should send. Bytes are carried by hand.
@Suite("Limits of HTTP/2 frames")
struct FrameLimitTests {
    private typealias Events = SessionTests.Events

    /// What one side makes of bytes: nil, or the error that ends it.
    private static func receive(
        _ bytes: [UInt8], role: HTTP2Session.Role = .server, each: Int? = nil
    ) throws -> (events: Events, error: NetworkError?) {
        let (session, events) = try SessionTests.side(role)
        defer { events.session = nil }
        if role == .client { _ = try session.submitRequest(authority: "h", body: BytesBody([])) }
        _ = try SessionTests.said(by: session)
        let size = each ?? max(1, bytes.count)
        do throws(NetworkError) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = Array(bytes[start..<min(start + size, bytes.count)])
                var failure: NetworkError?
                piece.withUnsafeBytes { bytes in
                    do throws(NetworkError) { try session.receive(bytes) } catch { failure = error }
                }
                if let failure { throw failure }
            }
            return (events, nil)
        } catch {
            return (events, error)
        }
    }

    /// A literal field without indexing (RFC 7541, 6.2.2), of names and values below 127 bytes.
    private static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
    }

    private static let start = Frame.preface + Frame.settings

    /// How many empty frames are taken before one is too many.
    private static func left(of allowance: FrameAllowance) -> Int {
        var allowance = allowance
        var count = 0
        while allowance.take(frameThatCarries: false) { count += 1 }
        return count
    }

    @Test("empty frames are counted, full ones give them back, and time does")
    func allowance() {
        var allowance = FrameAllowance()
        #expect(Self.left(of: allowance) == 4000)
        for _ in 0..<3000 { _ = allowance.take(frameThatCarries: false) }
        #expect(Self.left(of: allowance) == 1000)
        _ = allowance.take(frameThatCarries: true)
        #expect(Self.left(of: allowance) == 1004)
        allowance.replenish(2)
        #expect(Self.left(of: allowance) == 1006)
        // One for what was sent, and one for each KiB of it.
        allowance.take(bytesSent: 2047)
        #expect(Self.left(of: allowance) == 1008)
    }

    @Test("nobody saves up more than the beginning")
    func savings() {
        var allowance = FrameAllowance()
        allowance.replenish(1_000_000)
        allowance.take(bytesSent: 1 << 40)
        for _ in 0..<10 { _ = allowance.take(frameThatCarries: true) }
        #expect(Self.left(of: allowance) == 4000)
    }

    @Test("a request cut anywhere, and its bytes one by one, are the same request")
    func cuts() throws {
        let bytes =
            Self.start + Frame.headers(stream: 1) + Frame.data(stream: 1, [1, 2]) + Frame.ping
            + Frame.data(stream: 1, []) + Frame.data(stream: 1, ends: true, [3])
        for size in 1...bytes.count {
            let (events, error) = try Self.receive(bytes, each: size)
            #expect(error == nil && events.bodies == [1: [1, 2, 3]] && events.ended == [1])
        }
        for length in 0..<bytes.count {
            let (events, error) = try Self.receive(Array(bytes.prefix(length)))
            #expect(error == nil && events.ended.isEmpty)
            #expect([1, 2, 3].starts(with: events.bodies[1] ?? []))
        }
    }

    @Test("headers of just the limit are taken, one byte more ends the connection")
    func headerLimit() throws {
        // Each of these fields counts 32 bytes more than its text.
        let pseudo = 3 * 32 + 7 + 4 + 7 + 5 + 5 + 1 + (10 + 1 + 32)
        func fields(_ total: Int) -> [UInt8] {
            var left = total - pseudo
            var bytes = Frame.requestFields
            while left > 0 {
                let size = left > 300 ? 150 : left > 150 ? left - 100 : left
                bytes += Self.field("x", String(repeating: "y", count: size - 33))
                left -= size
            }
            return bytes
        }
        for (total, isTaken) in [(8191, true), (8192, true), (8193, false)] {
            let (_, error) = try Self.receive(
                Self.start + Frame.headers(stream: 1, ends: true, fields: fields(total)))
            #expect((error == nil) == isTaken, "\(total): \(error?.sentence ?? "taken")")
            if let error { #expect(error.sentence == "The peer's headers are longer than allowed.") }
        }
    }

    @Test(
        "an answer has one of the numbers that there are",
        arguments: [
            ("200", true), ("599", true), ("404", true), ("099", false), ("600", false), ("1000", false),
            ("2x0", false), ("", false), ("-200", false), ("20", false),
        ])
    func statuses(text: String, exists: Bool) throws {
        let (events, error) = try Self.receive(
            Frame.settings + Frame.headers(stream: 1, ends: true, fields: Self.field(":status", text)),
            role: .client)
        #expect(events.ended.isEmpty != exists, "\(error?.sentence ?? "taken")")
    }

    @Test("an interim answer is no answer, and trailers are no second head")
    func interim() throws {
        final class Heads: HTTP2SessionEvents {
            var statuses: [Int?] = []
            var ended = 0
            func headersArrived(stream: Int32, status: Int?) { statuses.append(status) }
            func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) {}
            func messageEnded(stream: Int32) { ended += 1 }
            func streamClosed(stream: Int32, error: UInt32) {}
        }
        let heads = Heads()
        let session = try HTTP2Session(role: .client, events: heads)
        _ = try session.submitRequest(authority: "h", body: BytesBody([]))
        _ = try SessionTests.said(by: session)
        let bytes =
            Frame.settings + Frame.headers(stream: 1, fields: Self.field(":status", "100"))
            + Frame.headers(stream: 1, fields: Self.field(":status", "200")) + Frame.data(stream: 1, [1])
            + Frame.headers(stream: 1, ends: true, fields: Self.field("x", "y"))
        try bytes.withUnsafeBytes { try session.receive($0) }
        #expect(heads.statuses == [200] && heads.ended == 1)
    }

    @Test("a body that is shorter than announced, or fails, ends the connection with its own reason")
    func brokenBodies() throws {
        struct Broken: Error, CustomStringConvertible { let description = "broken" }
        final class Short: BodySource {
            let length = 10
            let fails: Bool
            init(fails: Bool) { self.fails = fails }
            func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
                if fails { throw Broken() }
                return 0
            }
        }
        for (fails, sentence) in [
            (false, "The body to be sent is shorter than announced."), (true, "broken"),
        ] {
            let (session, events) = try SessionTests.side(.client)
            defer { events.session = nil }
            _ = try session.submitRequest(authority: "h", body: Short(fails: fails))
            let error = #expect(throws: NetworkError.self) { try SessionTests.said(by: session) }
            #expect(error?.code == .body && error?.sentence == sentence)
        }
    }

    @Test("what a listener throws ends the session with that error")
    func thrown() throws {
        final class Refusing: HTTP2SessionEvents {
            func headersArrived(stream: Int32, status: Int?) throws { throw NetworkError(.body, "No.") }
            func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) {}
            func messageEnded(stream: Int32) {}
            func streamClosed(stream: Int32, error: UInt32) {}
        }
        let refusing = Refusing()
        let session = try HTTP2Session(role: .server, events: refusing)
        let bytes = Self.start + Frame.headers(stream: 1)
        let error = #expect(throws: NetworkError.self) {
            try bytes.withUnsafeBytes { try session.receive($0) }
        }
        #expect(error?.sentence == "No.")
    }

    @Test("a server that is going away takes no new request, and says so of the one that was not begun")
    func goingAway() throws {
        let (client, events) = try SessionTests.side(.client)
        defer { events.session = nil }
        _ = try SessionTests.said(by: client)
        // GOAWAY: last stream 0, no error.
        let bytes = Frame.settings + Frame.make(7, [0, 0, 0, 0, 0, 0, 0, 0])
        try bytes.withUnsafeBytes { try client.receive($0) }
        #expect(client.isGoingAway)
        let refused = (try? client.submitRequest(authority: "h", body: BytesBody([1]))) ?? 0
        _ = try SessionTests.said(by: client)
        #expect(refused <= 0 || events.closed == [refused])
    }
}
