import Base
import TestSupport
import Testing

@testable import Network

@Suite("Frames of a WebSocket become messages")
struct WebSocketReaderTests {
    typealias Message = WebSocketReader.Message

    /// Returns the messages of these pieces, and the final error.
    private static func read(
        _ pieces: [[UInt8]], limit: Int = 1000
    ) -> (messages: [Message], error: NetworkError?) {
        var reader = WebSocketReader(limit: limit)
        var messages: [Message] = []
        for piece in pieces {
            var failure: NetworkError?
            piece.withUnsafeBytes { bytes in
                do throws(NetworkError) {
                    try reader.read(bytes) { messages.append($0) }
                } catch { failure = error }
            }
            if let failure { return (messages, failure) }
        }
        return (messages, nil)
    }

    private static func frame(_ opcode: UInt8, _ text: String = "", isFinal: Bool = true) -> [UInt8] {
        WebSocketPeer.frame(opcode, Array(text.utf8), isFinal: isFinal)
    }

    /// One of each kind: whole, fragmented with a ping between, empty, binary, close.
    private static let conversation =
        frame(1, "one") + frame(1, "tw", isFinal: false) + frame(9, "ping") + frame(0, "o", isFinal: false)
        + frame(0, "") + frame(2, String(repeating: "x", count: 300)) + frame(1, "") + frame(10, "pong")
        + frame(8, "\u{3}")
    private static let meaning: [Message] = [
        .data(Array("one".utf8)), .ping(Array("ping".utf8)), .data(Array("two".utf8)),
        .data([UInt8](repeating: UInt8(ascii: "x"), count: 300)), .data([]), .pong, .close,
    ]

    @Test("pieces of any size mean the same")
    func cuts() {
        let bytes = Self.conversation
        for cut in 0...bytes.count {
            let (messages, error) = Self.read([Array(bytes[..<cut]), Array(bytes[cut...])])
            #expect(messages == Self.meaning && error == nil, "cut at \(cut)")
        }
        for size in 1...9 {
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            #expect(Self.read(pieces).messages == Self.meaning)
        }
    }

    @Test("only complete messages of truncated input count")
    func cutOff() {
        let bytes = Self.conversation
        var last = 0
        for length in 0..<bytes.count {
            let (messages, error) = Self.read([Array(bytes.prefix(length))])
            #expect(error == nil && Self.meaning.starts(with: messages) && messages.count >= last)
            last = messages.count
        }
        #expect(last == Self.meaning.count - 1)
    }

    @Test(
        "every form of a length works at its ends",
        arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 70_000])
    func lengths(length: Int) {
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let frame = WebSocketPeer.frame(2, payload)
        #expect(frame.count == length + (length < 126 ? 2 : length < 65_536 ? 4 : 10))
        #expect(Self.read([frame], limit: 70_000).messages == [.data(payload)])
        let mask: [UInt8] = [1, 0x80, 0xFF, 0]
        let masked = WebSocketFrame.masked(1, payload, mask: mask)
        let (own, count) = WebSocketPeer.frame(in: masked) ?? ((0, []), 0)
        #expect(own.opcode == 1 && own.payload == payload && count == masked.count)
        // Masked: the payload is visible only if the mask is zero.
        if length >= 3 {
            #expect(
                masked.suffix(length).prefix(3).elementsEqual(zip(payload, mask).map { $0 ^ $1 }.prefix(3)))
        }
    }

    @Test("a message above the limit ends the connection")
    func limits() {
        let text = { String(repeating: "a", count: $0) }
        for parts in [[10], [9, 1], [0, 10], [1, 1, 8], [10, 0]] {
            let frames = parts.enumerated().flatMap { index, count in
                Self.frame(index == 0 ? 1 : 0, text(count), isFinal: index == parts.count - 1)
            }
            #expect(Self.read([frames], limit: 10).messages == [.data(Array(text(10).utf8))])
            let (messages, error) = Self.read([frames], limit: 9)
            #expect(messages.isEmpty && error?.code == .protocolViolation)
            #expect(error?.sentence == "The server sent a message of more than 9 bytes.")
        }
        // The limit is per message.
        let many = (0..<20).flatMap { _ in Self.frame(1, text(10)) }
        #expect(Self.read([many], limit: 10).messages.count == 20)
    }

    @Test("a huge length is refused by its header")
    func absurdLengths() {
        for length in [UInt64.max, 1 << 63, 1 << 32, 1001] {
            var header: [UInt8] = [0x82, 127]
            header.append(bigEndian: length)
            #expect(Self.read([header]).error?.code == .protocolViolation)
        }
        var header: [UInt8] = [0x82, 127]
        header.append(bigEndian: UInt64(1000))
        #expect(Self.read([header]).error == nil)
    }

    @Test(
        "each violation ends the connection with its error",
        arguments: [
            ([0x81, 0x80, 0, 0, 0, 0], "a masked frame from a server"),
            ([0xC1, 0], "an extension that was not agreed on"),
            ([0xA1, 0], "an extension that was not agreed on"),
            ([0x91, 0], "an extension that was not agreed on"),
            ([0x80, 0], "a continuation of nothing"), ([0x00, 0], "a continuation of nothing"),
            ([0x01, 0, 0x81, 0], "a message inside another"),
            ([0x01, 0, 0x02, 0], "a message inside another"),
            ([0x81, 0, 0x80, 0], "a continuation of nothing"),
            ([0x09, 0], "a control frame that is too long"), ([0x08, 0], "a control frame that is too long"),
            ([0x89, 126, 0, 126], "a control frame that is too long"),
            ([0x8A, 127, 0, 0, 0, 0, 0, 0, 0, 200], "a control frame that is too long"),
            ([0x83, 0], "a frame of unknown kind"), ([0x87, 0], "a frame of unknown kind"),
            ([0x8B, 0], "a frame of unknown kind"), ([0x8F, 0], "a frame of unknown kind"),
        ] as [([UInt8], String)])
    func violations(bytes: [UInt8], what: String) {
        for pieces in [[bytes], bytes.map { [$0] }] {
            let error = Self.read(pieces).error
            #expect(error?.code == .protocolViolation)
            #expect(error?.sentence == "The server does not speak WebSocket properly: \(what).")
        }
    }

    @Test("a control frame may have 125 bytes")
    func longestControl() {
        let text = String(repeating: "p", count: 125)
        #expect(Self.read([Self.frame(9, text)]).messages == [.ping(Array(text.utf8))])
    }

    @Test("random frames in random pieces survive a round trip")
    func model() {
        var generator = SeededGenerator(state: 5)
        for _ in 0..<200 {
            var bytes: [UInt8] = []
            var expected: [Message] = []
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let fragments = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                    (0..<Int.random(in: 0...140, using: &generator)).map { _ in
                        UInt8.random(in: 0...255, using: &generator)
                    }
                }
                for (index, fragment) in fragments.enumerated() {
                    if Bool.random(using: &generator) {
                        bytes += WebSocketPeer.frame(9, [UInt8(index)])
                        expected.append(.ping([UInt8(index)]))
                    }
                    bytes += WebSocketPeer.frame(
                        index == 0 ? 2 : 0, fragment, isFinal: index == fragments.count - 1)
                }
                expected.append(.data(fragments.flatMap { $0 }))
            }
            var pieces: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 0...min(rest.count, 200), using: &generator)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(Self.read(pieces).messages == expected)
        }
    }
}
