import CNghttp2

/// `context` is the unretained session, which owns the nghttp2 session and so outlives it.
private func session(_ context: UnsafeMutableRawPointer?) -> HTTP2Session {
    Unmanaged<HTTP2Session>.fromOpaque(context!).takeUnretainedValue()
}

/// Passes nghttp2's callbacks to the methods of `HTTP2Session`.
enum HTTP2Callbacks {
    static func install(in callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, context in
            session(context).headersBegin()
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, _, name, nameLength, value, valueLength, _, context in
            session(context).header(
                name: UnsafeBufferPointer(start: name, count: nameLength),
                value: UnsafeBufferPointer(start: value, count: valueLength))
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            session(context).frameArrived(frame!.pointee)
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, _, code, context in
            session(context).frameWasInvalid(code)
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, bytes, count, context in
            session(context).dataArrived(
                stream: stream, bytes: UnsafeRawBufferPointer(start: bytes, count: count))
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, context in
            session(context).closed(stream: stream, error: code)
        }
        nghttp2_session_callbacks_set_before_frame_send_callback(callbacks) { _, frame, context in
            session(context).willSend(frame!.pointee)
        }
        nghttp2_session_callbacks_set_send_data_callback(callbacks) {
            _, frame, header, count, _, context in
            session(context).sendBody(
                stream: frame!.pointee.hd.stream_id,
                header: UnsafeRawBufferPointer(start: header, count: 9), count: count)
        }
        // Limited by the windows and the peer's own limit.
        nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks) {
            _, _, _, connectionWindow, streamWindow, frameLimit, _ in
            min(Int(connectionWindow), Int(streamWindow), Int(frameLimit), HTTP2Limits.frameSent)
        }
    }

    /// Decides the length of a frame. The send-data callback writes the bytes without a copy.
    static let bodyLength: nghttp2_data_source_read_callback = {
        _, stream, _, limit, flags, _, context in
        let (count, isLast) = session(context).nextBodyLength(stream: stream, limit: limit)
        flags!.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
        if isLast { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }
}

/// Header fields in nghttp2's form, for the duration of a call.
struct HeaderFields {
    private var text: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    init(_ fields: [(String, String)]) {
        for (name, value) in fields {
            text += Array(name.utf8) + Array(value.utf8)
            lengths.append((name.utf8.count, value.utf8.count))
        }
    }

    func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>, Int) -> Result) -> Result {
        var text = text
        return text.withUnsafeMutableBufferPointer { buffer in
            var fields: [nghttp2_nv] = []
            var position = 0
            for (name, value) in lengths {
                fields.append(
                    nghttp2_nv(
                        name: buffer.baseAddress! + position, value: buffer.baseAddress! + position + name,
                        namelen: name, valuelen: value, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                position += name + value
            }
            return body(&fields, fields.count)
        }
    }
}
