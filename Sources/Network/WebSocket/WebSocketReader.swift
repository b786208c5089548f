import Base

/// The incoming half of a client's WebSocket (RFC 6455, section 5): bytes in, messages out. A pure state machine. A
/// violation of the rules or of the limit ends it with an error.
struct WebSocketReader {
    enum Message: Equatable {
        /// Text or binary: the whole message.
        case data([UInt8])
        case ping([UInt8])
        case pong
        case close
    }

    private enum Opcode {
        static let continuation: UInt8 = 0
        static let text: UInt8 = 1
        static let binary: UInt8 = 2
        static let close: UInt8 = 8
        static let ping: UInt8 = 9
        static let pong: UInt8 = 10
    }

    /// The maximum length of a message in bytes.
    private let limit: Int
    private var header: [UInt8] = []
    /// The missing payload bytes of the current frame, or nil while its header is incomplete.
    private var remaining: Int?
    private var opcode: UInt8 = 0
    private var isFinal = false
    private var isFragmented = false
    private var message: [UInt8] = []
    private var control: [UInt8] = []

    init(limit: Int) { self.limit = limit }

    /// Reads the next bytes, in pieces of any size.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, received: (Message) -> Void
    ) throws(NetworkError) {
        var left = bytes[...]
        while true {
            if let remaining {
                let part = left.prefix(remaining)
                if opcode < 8 { message.append(contentsOf: part) } else { control.append(contentsOf: part) }
                left = left.dropFirst(part.count)
                self.remaining = remaining - part.count
                guard part.count == remaining else { return }
                self.remaining = nil
                frameEnded(received)
            } else {
                guard let byte = left.popFirst() else { return }
                header.append(byte)
                if let length = try payloadLength() {
                    try begin(length)
                }
            }
        }
    }

    /// Returns the length in the header, or nil if the header is incomplete.
    private func payloadLength() throws(NetworkError) -> UInt64? {
        guard header.count >= 2 else { return nil }
        guard header[1] & 0x80 == 0 else { throw Self.violation("a masked frame from a server") }
        let short = header[1] & 0x7F
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        guard header.count == 2 + extra else { return nil }
        return extra == 0 ? UInt64(short) : header[2...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func begin(_ length: UInt64) throws(NetworkError) {
        guard header[0] & 0x70 == 0 else { throw Self.violation("an extension that was not agreed on") }
        opcode = header[0] & 0x0F
        isFinal = header[0] & 0x80 != 0
        header.removeAll(keepingCapacity: true)
        switch opcode {
        case Opcode.continuation:
            guard isFragmented else { throw Self.violation("a continuation of nothing") }
        case Opcode.text, Opcode.binary:
            guard !isFragmented else { throw Self.violation("a message inside another") }
        case Opcode.close, Opcode.ping, Opcode.pong:
            guard isFinal, length <= 125 else { throw Self.violation("a control frame that is too long") }
        default:
            throw Self.violation("a frame of unknown kind")
        }
        guard opcode >= 8 || length <= UInt64(limit - message.count) else {
            throw NetworkError(
                .protocolViolation, "The server sent a message of more than \(limit) bytes.")
        }
        remaining = Int(length)
        if opcode < 8 { message.reserveCapacity(message.count + min(Int(length), 1 << 20)) }
    }

    private mutating func frameEnded(_ received: (Message) -> Void) {
        switch opcode {
        case Opcode.close: received(.close)
        case Opcode.ping: received(.ping(control))
        case Opcode.pong: received(.pong)
        default:
            isFragmented = !isFinal
            if isFinal {
                received(.data(message))
                message = []
            }
        }
        control.removeAll(keepingCapacity: true)
    }

    private static func violation(_ what: String) -> NetworkError {
        NetworkError(.protocolViolation, "The server does not speak WebSocket properly: \(what).")
    }
}

/// The outgoing half: frames of a client, masked as the protocol requires.
enum WebSocketFrame {
    static let text: UInt8 = 1
    static let close: UInt8 = 8
    static let pong: UInt8 = 10

    /// Returns one final frame. `mask` is four fresh random bytes.
    static func masked(_ opcode: UInt8, _ payload: [UInt8], mask: [UInt8]) -> [UInt8] {
        precondition(mask.count == 4, "a mask has four bytes")
        var frame: [UInt8] = [0x80 | opcode]
        frame.reserveCapacity(payload.count + 14)
        switch payload.count {
        case ..<126:
            frame.append(0x80 | UInt8(payload.count))
        case ..<65_536:
            frame.append(0x80 | 126)
            frame.append(bigEndian: UInt16(payload.count))
        default:
            frame.append(0x80 | 127)
            frame.append(bigEndian: UInt64(payload.count))
        }
        frame += mask
        for (index, byte) in payload.enumerated() { frame.append(byte ^ mask[index & 3]) }
        return frame
    }
}
