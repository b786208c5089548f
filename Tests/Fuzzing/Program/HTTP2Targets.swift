import Base

@testable import Network

extension Target {
    /// Decrypted bytes of TLS.
    static let http2 = [
        Target("http2-answer", "what a relay sends, as HTTP/2", longest: 2048) { bytes in
            var input = Input(bytes)
            let events = HTTP2Recorder()
            guard let session = try? HTTP2Session(role: .client, events: events) else { return }
            let bodies = [0, 100, 40_000].map { BytesBody([UInt8](repeating: 1, count: $0)) }
            for body in bodies {
                if let stream = try? session.submitRequest(authority: "relay:443", body: body) {
                    events.own.insert(stream)
                }
            }
            exchange(session, events, pieces: Int(input.byte()) + 1, input.rest())
        },
        Target("http2-request", "what a client sends, as HTTP/2", longest: 2048) { bytes in
            var input = Input(bytes)
            let events = HTTP2Recorder()
            guard let session = try? HTTP2Session(role: .server, events: events) else { return }
            events.session = session
            let isGreeted = input.bool()
            let pieces = Int(input.byte()) + 1
            let magic = isGreeted ? Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) : []
            exchange(session, events, pieces: pieces, magic + input.rest())
        },
    ]

    private static func exchange(
        _ session: HTTP2Session, _ events: HTTP2Recorder, pieces: Int, _ bytes: [UInt8]
    ) {
        let output = ByteQueue(capacity: 32 << 10)
        var sent = 0
        do {
            try session.fill(output)
            try bytes.inPieces(of: pieces) { piece in
                sent += output.count
                output.removeAll()
                try session.receive(piece)
                try session.fill(output)
            }
        } catch {
            hold(error is NetworkError, "an error is one of the network")
        }
        // Settings, requests and their bodies; then only frames that get an answer.
        hold(sent <= 50_000 + events.answered + 200 * bytes.count, "little is said to who says little")
    }
}

/// Checks the promises of HTTP2Session to its listener.
private final class HTTP2Recorder: HTTP2SessionEvents {
    /// The streams opened by this side, on a client.
    var own: Set<Int32> = []
    weak var session: HTTP2Session?
    private var open: Set<Int32> = []
    private var ended: Set<Int32> = []
    private var closed: Set<Int32> = []
    private(set) var answered = 0

    private var isServer: Bool { session != nil }

    func headersArrived(stream: Int32, status: Int?) {
        hold(isServer || own.contains(stream), "a relay answers what it was asked")
        hold(isServer == (status == nil), "an answer has a status, a request has none")
        hold(open.insert(stream).inserted, "a message has one head")
        hold(open.count <= HTTP2Limits.streams, "there are not too many streams")
    }

    func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) {
        hold(open.contains(stream) && !ended.contains(stream), "a body comes between head and end")
        hold(bytes.count <= HTTP2Limits.frame, "a frame is not too long")
    }

    func messageEnded(stream: Int32) throws {
        hold(open.contains(stream) && ended.insert(stream).inserted, "a message ends once")
        guard let session else { return }
        try session.submitResponse(stream: stream, body: BytesBody([UInt8](repeating: 2, count: 500)))
        answered += 700
    }

    func streamClosed(stream: Int32, error: UInt32) {
        hold(closed.insert(stream).inserted, "a stream is closed once")
        open.remove(stream)
    }
}
