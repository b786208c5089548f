import Base
import Testing

@testable import Network

/// Limits of a peer's frames, and malformed headers, without a network.
@Suite("Limits of HTTP/2 frames")
struct FrameLimitTests {
    private typealias Events = SessionTests.Events

    /// Returns the error of a side that reads these bytes, or nil.
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

    /// Returns the number of empty frames before an error.
    private static func left(of allowance: FrameAllowance) -> Int {
        var allowance = allowance
        var count = 0
        while allowance.take(frameThatCarries: false) { count += 1 }
        return count
    }

    @Test("payload and time give credit for empty frames")
    func allowance() {
        var allowance = FrameAllowance()
        #expect(Self.left(of: allowance) == 4000)
        for _ in 0..<3000 { _ = allowance.take(frameThatCarries: false) }
        #expect(Self.left(of: allowance) == 1000)
        _ = allowance.take(frameThatCarries: true)
        #expect(Self.left(of: allowance) == 1004)
        allowance.replenish(2)
        #expect(Self.left(of: allowance) == 1006)
        // One for sent data, and one for each KiB of it.
        allowance.take(bytesSent: 2047)
        #expect(Self.left(of: allowance) == 1008)
    }

    @Test("credit never exceeds its start")
    func savings() {
        var allowance = FrameAllowance()
        allowance.replenish(1_000_000)
        allowance.take(bytesSent: 1 << 40)
        for _ in 0..<10 { _ = allowance.take(frameThatCarries: true) }
        #expect(Self.left(of: allowance) == 4000)
    }

    @Test("requests in any pieces are the same")
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

    @Test("headers above the limit end the connection")
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
        "unknown status codes are refused",
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

    @Test("interim answers and trailers are no answers")
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

    @Test("short and failing bodies end the connection")
    func brokenBodies() throws {
        struct Broken: Error, CustomStringConvertible { let description = "broken" }
        final class Short: BodySource {
            let length = 10
            let fails: Bool
            init(fails: Bool) { self.fails = fails }
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
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

    @Test("an error of a listener ends the session")
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

    @Test("GOAWAY refuses new and unstarted requests")
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
