import Base
import CNghttp2

/// What happens in an HTTP/2 session, told on the thread that feeds it. Throwing ends the session.
protocol HTTP2SessionEvents: AnyObject {
    /// The peer's headers of a message are complete; `status` is nil on a server.
    func headersArrived(stream: Int32, status: Int?) throws
    /// Bytes of a body; they lie in the buffer given to `receive`.
    func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) throws
    /// The peer's message is complete.
    func messageEnded(stream: Int32) throws
    /// Both sides are done with the stream, or one has given it up (`error` is not 0).
    func streamClosed(stream: Int32, error: UInt32)
}

/// One side of an HTTP/2 connection as a pure state machine over nghttp2: bytes in, bytes out, no
/// I/O, no clock, no threads.
final class HTTP2Session {
    enum Role { case client, server }

    private var session: OpaquePointer?
    private let role: Role
    private unowned let events: any HTTP2SessionEvents
    /// Bodies on their way out, by stream.
    private var outgoing: [Int32: OutgoingBody] = [:]
    /// Where `fill` writes while it runs.
    private var output: ByteQueue?
    /// What a callback threw; nghttp2 only carries a number.
    private var failure: (any Error)?
    /// What the peer did wrong, in nghttp2's words.
    private var violation: String?
    private var headerBytes = 0
    private var status: Int?
    private var allowance = FrameAllowance()
    /// The peer takes no new streams any more.
    private(set) var isGoingAway = false

    init(role: Role, events: any HTTP2SessionEvents) throws(NetworkError) {
        self.role = role
        self.events = events
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&options) == 0 else {
            throw NetworkError(.exhausted, "There is no memory for a connection.")
        }
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(options)
        }
        HTTP2Callbacks.install(in: callbacks)
        nghttp2_option_set_max_send_header_block_length(options, HTTP2Limits.headerBytes)
        // Closed streams are of no use to us, and each costs memory.
        nghttp2_option_set_no_closed_streams(options, 1)
        let context = Unmanaged.passUnretained(self).toOpaque()
        let result =
            role == .client
            ? nghttp2_session_client_new2(&session, callbacks, context, options)
            : nghttp2_session_server_new2(&session, callbacks, context, options)
        guard result == 0 else { throw NetworkError(.exhausted, "There is no memory for a connection.") }
        try submitSettings()
    }

    deinit { nghttp2_session_del(session) }

    private func submitSettings() throws(NetworkError) {
        func entry(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
            nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(value))
        }
        let settings = [
            entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, HTTP2Limits.streams),
            entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2Limits.streamWindow),
            entry(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, HTTP2Limits.frame),
            entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP2Limits.headerBytes),
            entry(NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
        ]
        // A server may not send ENABLE_PUSH (RFC 9113, 6.5.2).
        let count = role == .client ? settings.count : settings.count - 1
        try check(nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, count))
        try check(
            nghttp2_session_set_local_window_size(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(HTTP2Limits.connectionWindow)))
    }

    // MARK: Bytes

    /// Takes what the peer sent; events are told meanwhile.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(NetworkError) {
        let count = nghttp2_session_mem_recv(
            session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        try check(Int32(clamping: count))
    }

    /// Appends what is to be sent, as long as `output` has room without growing. Body bytes are
    /// written straight into it by their source.
    func fill(_ output: ByteQueue) throws(NetworkError) {
        self.output = output
        defer { self.output = nil }
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            try check(Int32(clamping: count))
            guard count > 0 else { return }
            output.append(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    /// Nothing more will be sent or expected: the connection can be closed.
    var isFinished: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// Why the session finished by itself, when the peer is to blame.
    var violationReason: String? { violation }

    /// Lets the peer have `count` more frames that carry nothing; called as time passes.
    func replenish(_ count: Int) { allowance.replenish(count) }

    // MARK: Messages

    /// Starts a POST to `/`. Answers the stream.
    func submitRequest(authority: String, body: any BodySource) throws(NetworkError) -> Int32 {
        let headers = [
            (":method", "POST"), (":scheme", "https"), (":authority", authority), (":path", "/"),
        ]
        let stream = HeaderFields(headers).withFields { fields, count in
            withProvider(for: body) { nghttp2_submit_request(session, nil, fields, count, $0, nil) }
        }
        try check(stream)
        if body.length > 0 { outgoing[stream] = OutgoingBody(source: body) }
        return stream
    }

    /// Answers a request with status 200 and a body.
    func submitResponse(stream: Int32, body: any BodySource) throws(NetworkError) {
        if body.length > 0 { outgoing[stream] = OutgoingBody(source: body) }
        let result = HeaderFields([(":status", "200")]).withFields { fields, count in
            withProvider(for: body) { nghttp2_submit_response(session, stream, fields, count, $0) }
        }
        try check(result)
    }

    /// Whether part of the stream's outgoing body has not been handed to the connection.
    func hasUnsentBody(stream: Int32) -> Bool { outgoing[stream] != nil }

    /// Tells the peer that no more streams are taken or made.
    func goAway() { _ = nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue) }

    private func withProvider<Result>(
        for body: any BodySource, _ submit: (UnsafePointer<nghttp2_data_provider>?) -> Result
    ) -> Result {
        guard body.length > 0 else { return submit(nil) }
        var provider = nghttp2_data_provider()
        provider.read_callback = HTTP2Callbacks.bodyLength
        return submit(&provider)
    }

    private func check(_ result: Int32) throws(NetworkError) {
        guard result < 0 else { return }
        if let failure {
            self.failure = nil
            throw failure as? NetworkError
                ?? NetworkError(.body, sentence(of: failure), cause: failure)
        }
        let words = String(cString: nghttp2_strerror(result))
        throw NetworkError(.protocolViolation, "The peer does not speak HTTP/2 properly: \(words).")
    }

    // MARK: What the callbacks do

    private func run(_ body: () throws -> Void) -> Int32 {
        do {
            try body()
            return 0
        } catch {
            failure = error
            return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }

    func headersBegin() -> Int32 {
        headerBytes = 0
        status = nil
        return 0
    }

    func header(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Int32 {
        run {
            // 32 bytes for each field besides its text (RFC 9113, 6.5.2).
            headerBytes += name.count + value.count + 32
            guard headerBytes <= HTTP2Limits.headerBytes else {
                throw NetworkError(.protocolViolation, "The peer's headers are longer than allowed.")
            }
            if name.elementsEqual(":status".utf8) {
                status = Int(String(decoding: value, as: UTF8.self))
            }
        }
    }

    func frameArrived(_ frame: nghttp2_frame) -> Int32 {
        run {
            let type = UInt32(frame.hd.type)
            let carries = type == NGHTTP2_DATA.rawValue && frame.hd.length > 0
            guard allowance.take(frameThatCarries: carries) else {
                throw NetworkError(.protocolViolation, "The peer floods the connection with empty frames.")
            }
            if type == NGHTTP2_GOAWAY.rawValue { isGoingAway = true }
            guard type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_DATA.rawValue else { return }
            if type == NGHTTP2_HEADERS.rawValue && isHeadOfMessage(frame) {
                try events.headersArrived(stream: frame.hd.stream_id, status: status)
            }
            if UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
                try events.messageEnded(stream: frame.hd.stream_id)
            }
        }
    }

    /// Interim answers (1xx) and trailers are no head.
    private func isHeadOfMessage(_ frame: nghttp2_frame) -> Bool {
        role == .server ? frame.headers.cat == NGHTTP2_HCAT_REQUEST : (status ?? 0) >= 200
    }

    func frameWasInvalid(_ code: Int32) -> Int32 {
        violation = String(cString: nghttp2_strerror(code))
        return 0
    }

    func dataArrived(stream: Int32, bytes: UnsafeRawBufferPointer) -> Int32 {
        run { try events.bodyArrived(stream: stream, bytes: bytes) }
    }

    /// A request that could not be started, because the peer is going away.
    func notSent(_ frame: nghttp2_frame) -> Int32 {
        guard UInt32(frame.hd.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
        return closed(stream: frame.hd.stream_id, error: NGHTTP2_REFUSED_STREAM.rawValue)
    }

    func closed(stream: Int32, error: UInt32) -> Int32 {
        outgoing[stream] = nil
        events.streamClosed(stream: stream, error: error)
        return 0
    }

    /// How many bytes the next frame of the stream carries, and whether it is the last.
    func nextBodyLength(stream: Int32, room: Int) -> (count: Int, isLast: Bool) {
        guard let body = outgoing[stream] else { return (0, true) }
        let count = min(room, body.remaining)
        body.remaining -= count
        return (count, body.remaining == 0)
    }

    /// Writes a frame of a body: its header, then the bytes as the source gives them.
    func sendBody(stream: Int32, header: UnsafeRawBufferPointer, count: Int) -> Int32 {
        guard let output, output.room >= header.count + count else {
            return NGHTTP2_ERR_WOULDBLOCK.rawValue
        }
        guard let body = outgoing[stream] else { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue }
        let result = run {
            output.append(header)
            var given = 0
            while given < count {
                let more = try output.append(upTo: count - given) { try body.source.read(into: $0) }
                guard more > 0 else {
                    throw NetworkError(.body, "The body to be sent is shorter than announced.")
                }
                given += more
            }
        }
        if result == 0 {
            allowance.take(bytesSent: count)
            if body.remaining == 0 { outgoing[stream] = nil }
        }
        return result
    }

    private final class OutgoingBody {
        let source: any BodySource
        var remaining: Int

        init(source: any BodySource) {
            self.source = source
            remaining = source.length
        }
    }
}
