import Base
import CNghttp2

/// The methods behind nghttp2's callbacks. A result below 0 ends the session; `check` then throws the stored error.
extension HTTP2Session {
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
                // nghttp2 treats a status below 100 as the head of an answer; none above 599 is defined.
                guard let status, (100..<600).contains(status) else {
                    throw NetworkError(
                        .protocolViolation, "The peer's answer has a status that does not exist.")
                }
            }
        }
    }

    func frameArrived(_ frame: nghttp2_frame) -> Int32 {
        heard &+= 1
        return run {
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

    /// Interim answers (1xx) and trailers are not the head.
    private func isHeadOfMessage(_ frame: nghttp2_frame) -> Bool {
        role == .server ? frame.headers.cat == NGHTTP2_HCAT_REQUEST : (status ?? 0) >= 200
    }

    func frameWasInvalid(_ code: Int32) -> Int32 {
        violation = String(cString: nghttp2_strerror(code))
        return 0
    }

    func dataArrived(stream: Int32, bytes: UnsafeRawBufferPointer) -> Int32 {
        heard &+= 1
        return run { try events.bodyArrived(stream: stream, bytes: bytes) }
    }

    /// nghttp2 resets a stream by itself if the peer violates the protocol on it.
    func willSend(_ frame: nghttp2_frame) -> Int32 {
        guard sendsNoResets, UInt32(frame.hd.type) == NGHTTP2_RST_STREAM.rawValue else { return 0 }
        return run {
            throw NetworkError(.protocolViolation, "The peer broke a rule of HTTP/2 on one of its streams.")
        }
    }

    func closed(stream: Int32, error: UInt32) -> Int32 {
        outgoing[stream] = nil
        events.streamClosed(stream: stream, error: error)
        return 0
    }

    /// Returns the length of the stream's next frame, and whether it is the last.
    func nextBodyLength(stream: Int32, limit: Int) -> (count: Int, isLast: Bool) {
        guard let body = outgoing[stream] else { return (0, true) }
        let count = min(limit, body.remaining)
        body.remaining -= count
        return (count, body.remaining == 0)
    }

    /// Writes a frame of a body: its header, then the bytes of the source.
    func sendBody(stream: Int32, header: UnsafeRawBufferPointer, count: Int) -> Int32 {
        guard let output, output.freeCapacity >= header.count + count else {
            return NGHTTP2_ERR_WOULDBLOCK.rawValue
        }
        guard let body = outgoing[stream] else { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue }
        let result = run {
            output.append(header)
            var given = 0
            while given < count {
                let more = try output.append(upTo: count - given) {
                    try body.source.read(into: $0, at: body.position)
                }
                guard more > 0 else {
                    throw NetworkError(.body, "The body to be sent is shorter than announced.")
                }
                given += more
                body.position += more
            }
        }
        if result == 0 {
            allowance.take(bytesSent: count)
            if body.remaining == 0 { outgoing[stream] = nil }
        } else {
            streamOfFailedBody = stream
        }
        return result
    }
}
