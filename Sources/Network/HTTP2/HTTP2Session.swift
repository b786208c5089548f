import Base
import CNghttp2

/// The events of an HTTP/2 session, on the thread that feeds it. An error ends the session.
protocol HTTP2SessionEvents: AnyObject {
    /// The peer's headers of a message are complete; `status` is nil on a server.
    func headersArrived(stream: Int32, status: Int?) throws
    /// Bytes of a body, in the buffer given to `receive`.
    func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) throws
    /// The peer's message is complete.
    func messageEnded(stream: Int32) throws
    /// Both sides are done with the stream, or one has aborted it (`error` is not 0).
    func streamClosed(stream: Int32, error: UInt32)
}

/// One side of an HTTP/2 connection as a state machine over nghttp2: bytes in, bytes out, without I/O, clock or
/// threads.
final class HTTP2Session {
    enum Role { case client, server }

    private var session: OpaquePointer?
    let role: Role
    unowned let events: any HTTP2SessionEvents
    /// Outgoing bodies by stream.
    var outgoing: [Int32: OutgoingBody] = [:]
    /// The buffer for `fill` while it runs.
    var output: ByteQueue?
    /// The error of a callback; nghttp2 only passes a number.
    var failure: (any Error)?
    /// The stream whose outgoing body failed, if that ended the session.
    var streamOfFailedBody: Int32?
    /// The peer's violation in nghttp2's words.
    var violation: String?
    var headerBytes = 0
    var status: Int?
    var allowance = FrameAllowance()
    /// The peer accepts no new streams.
    var isGoingAway = false
    /// The count of frames and pieces of bodies from the peer. If it grows, the peer is alive.
    var heard: UInt64 = 0
    /// Whether the session ends in place of resetting a stream, for peers that end all streams because of one.
    let sendsNoResets: Bool

    init(
        role: Role, events: any HTTP2SessionEvents, sendsNoResets: Bool = false
    ) throws(NetworkError) {
        self.role = role
        self.events = events
        self.sendsNoResets = sendsNoResets
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
        // Closed streams are useless and cost memory.
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

    /// Reads bytes of the peer and reports events meanwhile.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(NetworkError) {
        let count = nghttp2_session_mem_recv(
            session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        try check(Int32(clamping: count))
    }

    /// Appends output as far as `output` has capacity. Sources write body bytes directly into it.
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

    /// Whether both sides are done, so that the connection can be closed.
    var isFinished: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// The peer's violation that finished the session, if any.
    var violationReason: String? { violation }

    /// Adds credit for `count` frames without payload; called as time passes.
    func replenish(_ count: Int) { allowance.replenish(count) }

    // MARK: Messages

    /// Starts a POST to `/`. Returns the stream.
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

    /// Returns the bytes of the stream's outgoing body that have no frame yet.
    func unsentBody(stream: Int32) -> Int { outgoing[stream]?.remaining ?? 0 }

    /// Returns whether the connection has not got all of the stream's outgoing body.
    func hasUnsentBody(stream: Int32) -> Bool { outgoing[stream] != nil }

    /// Sends a ping.
    func ping() throws(NetworkError) {
        try check(nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil))
    }

    /// Announces that this side accepts and opens no more streams.
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
}
