import Base
import TestSupport
import Testing

@testable import ChatProtocol

@Suite("Message bodies")
struct BodyTests {
    let vectors = try! VectorValue.file("chat")
    let compression = Zstandard.installed

    @Test("published message round-trips exactly")
    func published() throws {
        let text = try vectors["text_message"].text
        let elements = try ChatBody.read(Array(text.utf8), compression: nil)
        let id = try #require(SharedMessageID(bytes: [UInt8](0..<12)))
        let message = ChatMessage(.message(NewMessage(ChatContent(.text, text: "hello"))), id: id)
        #expect(elements == [.message(message)])
        #expect(try ChatBody.write(message, capacity: .message, compression: nil) == Array(text.utf8))
    }

    @Test("published agent message contains the body")
    func agentMessage() throws {
        let bytes = try vectors["agent_message (id 2, previous hash = sha256 of 49): M"].bytes
        // The letter, an 8-byte number, a hash with its length, the letter of chat messages.
        let body = Array(bytes.dropFirst(1 + 8 + 33 + 1))
        #expect(try ChatBody.read(body, compression: nil).count == 1)
    }

    @Test("published compressed message decodes", .enabled(if: Zstandard.installed != nil))
    func publishedCompressed() throws {
        let expected = try vectors["compressed_is"].text
        let elements = try ChatBody.read(try vectors["compressed_message"].bytes, compression: compression)
        #expect(elements == [.message(try #require(ChatMessage(decoding: Array(expected.utf8))))])
    }

    @Test("uncompressed piece in a compressed body decodes")
    func passedThrough() throws {
        let elements = try ChatBody.read(try vectors["passthrough_in_X"].bytes, compression: nil)
        let expected = try ChatBody.read(Array(try vectors["text_message"].text.utf8), compression: nil)
        #expect(elements == expected)
    }

    @Test("published file chunk round-trips")
    func chunk() throws {
        let bytes = try vectors["inline_chunk_1"].bytes
        let chunk = InlineChunk(
            of: try #require(SharedMessageID(bytes: [UInt8](0..<8))), number: 1, bytes: Array("data".utf8))
        #expect(try ChatBody.read(bytes, compression: nil) == [.chunk(chunk)])
        #expect(chunk.encoded == bytes)
    }

    @Test("invalid message does not spoil its batch")
    func batch() throws {
        let good = ChatMessage(.contactDeleted, id: try Sample.id())
        let body = "[\(good.json),{\"event\":5},\(good.json)]"
        #expect(
            try ChatBody.read(Array(body.utf8), compression: nil)
                == [.message(good), .unreadable, .message(good)])
    }

    @Test(
        "malformed bodies are rejected",
        arguments: [
            "", " ", "{", "[]", "[", "{}", "X", "X\u{0}", "F", "F\u{1}", "F\u{0}\u{0}\u{1}", "=", "hello",
        ])
    func refused(_ text: String) {
        expect(.malformed) { try ChatBody.read(Array(text.utf8), compression: nil) }
    }

    @Test("oversized batch is rejected")
    func longBatch() {
        let body = "[" + [String](repeating: "{}", count: 256).joined(separator: ",") + "]"
        expect(.malformed) { try ChatBody.read(Array(body.utf8), compression: nil) }
    }

    @Test("connection information is a single message")
    func information() throws {
        let message = ChatMessage(.information(Sample.profile), id: nil)
        let body = try ChatBody.write(message, capacity: .information, compression: compression)
        #expect(try ChatBody.readInformation(body, compression: compression) == message)
        expect(.malformed) {
            let two = "[\(message.json),\(message.json)]"
            return try ChatBody.readInformation(Array(two.utf8), compression: nil)
        }
        expect(.malformed) {
            try ChatBody.readInformation(
                InlineChunk(of: Sample.id(), number: 1, bytes: []).encoded, compression: nil)
        }
    }
}

@Suite("Compressed messages", .enabled(if: Zstandard.installed != nil))
struct CompressionTests {
    let compression = Zstandard.installed

    private func body(_ pieces: [(letter: Character, bytes: [UInt8])]) -> [UInt8] {
        var body: [UInt8] = [UInt8(ascii: "X"), UInt8(pieces.count)]
        for piece in pieces {
            body += Array(String(piece.letter).utf8)
            if piece.letter == "0" {
                body.append(byteString: piece.bytes)
            } else {
                body.append(large: piece.bytes)
            }
        }
        return body
    }

    private func frame(_ bytes: [UInt8]) throws -> [UInt8] {
        try #require(compression?.compress(bytes))
    }

    @Test("messages are compressed only if too long")
    func writing() throws {
        for (length, isCompressed) in [(100, false), (15_000, false), (20_000, true), (60_000, true)] {
            let text = String(repeating: "tea ", count: length / 4)
            let message = ChatMessage(
                .message(NewMessage(ChatContent(.text, text: text))), id: try Sample.id())
            let body = try ChatBody.write(message, capacity: .message, compression: compression)
            #expect((body.first == UInt8(ascii: "X")) == isCompressed)
            #expect(body.count <= ProtocolLimits.Capacity.message.bytes)
            #expect(try ChatBody.read(body, compression: compression) == [.message(message)])
        }
    }

    @Test("post-quantum keys leave less space")
    func postQuantum() throws {
        let text = String(repeating: "tea ", count: 3400)
        let message = ChatMessage(.message(NewMessage(ChatContent(.text, text: text))), id: try Sample.id())
        #expect(try ChatBody.write(message, capacity: .message, compression: nil).first == UInt8(ascii: "{"))
        #expect(
            try ChatBody.write(message, capacity: .postQuantumMessage, compression: compression).first
                == UInt8(ascii: "X"))
        expect(.tooLong) { try ChatBody.write(message, capacity: .postQuantumMessage, compression: nil) }
    }

    @Test("incompressible message is rejected, not cut")
    func incompressible() throws {
        var random = SeededGenerator(state: 7)
        let letters = (0..<40_000).map { _ in UInt8.random(in: 0x21...0x7E, using: &random) }
        let message = ChatMessage(
            .message(NewMessage(ChatContent(.text, text: String(decoding: letters, as: UTF8.self)))), id: nil)
        expect(.tooLong) { try ChatBody.write(message, capacity: .message, compression: compression) }
        let long = ChatMessage(
            .message(NewMessage(ChatContent(.text, text: String(repeating: "a", count: 70_000)))), id: nil)
        expect(.tooLong) { try ChatBody.write(long, capacity: .message, compression: compression) }
    }

    @Test("pieces of both kinds decode")
    func pieces() throws {
        let message = ChatMessage(.message(NewMessage(ChatContent(.text, text: "in pieces"))), id: nil)
        let bytes = Array(message.json.utf8)
        let (first, rest) = (Array(bytes[..<20]), Array(bytes[20...]))
        let body = body([("0", first), ("1", try frame(rest))])
        #expect(try ChatBody.read(body, compression: compression) == [.message(message)])
    }

    @Test("decompression bombs are rejected")
    func bombs() throws {
        let large = try frame([UInt8](repeating: UInt8(ascii: " "), count: 65_537))
        expect(.malformed) { try ChatBody.read(body([("1", large)]), compression: compression) }
        let half = try frame([UInt8](repeating: UInt8(ascii: " "), count: 40_000))
        expect(.malformed) { try ChatBody.read(body([("1", half), ("1", half)]), compression: compression) }
        let huge = try frame([UInt8](repeating: 0, count: 50 << 20))
        #expect(huge.count < 16_000)
        expect(.malformed) { try ChatBody.read(body([("1", huge)]), compression: compression) }
        // Plain pieces reach the limit only in a body beyond the permitted size.
        let raw = [(letter: Character, bytes: [UInt8])](
            repeating: ("0", [UInt8](repeating: 0x20, count: 255)), count: 255)
        expect(.malformed) { try ChatBody.read(body(raw), compression: compression) }
        let full = raw.dropLast(40) + [("1", try frame([UInt8](repeating: 0x20, count: 10_000)))]
        expect(.tooLong) { try ChatBody.read(body(full + raw.prefix(39)), compression: compression) }
    }

    @Test("unsized, concatenated and truncated frames are rejected")
    func frames() throws {
        let zzzz: [UInt8] = [
            0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x21, 0x00, 0x00, 0x7a, 0x7a, 0x7a, 0x7a, 0x8c, 0x5f, 0x50,
            0x10,
        ]
        let compression = try #require(compression)
        #expect(compression.inflate(zzzz, limit: 100) == nil)
        let one = try frame(Array("hello".utf8))
        #expect(compression.inflate(one, limit: 100) == Array("hello".utf8))
        #expect(compression.inflate(one, limit: 4) == nil)
        #expect(compression.inflate(one + one, limit: 100) == nil)
        #expect(compression.inflate(Array(one.dropLast()), limit: 100) == nil)
        #expect(compression.inflate([], limit: 100) == nil)
    }

    @Test("doubly compressed message is rejected")
    func twice() throws {
        let inner = body([("1", try frame(Array("{}".utf8)))])
        expect(.malformed) { try ChatBody.read(body([("1", try frame(inner))]), compression: compression) }
    }

    @Test("missing library is reported distinctly")
    func missing() throws {
        let body = body([("1", try frame(Array(ChatMessage(.contactDeleted, id: nil).json.utf8)))])
        expect(.compressionMissing) { try ChatBody.read(body, compression: nil) }
        #expect(Zstandard(path: "libnothing.so.1") == nil)
        #expect(Zstandard(path: "libc.so.6") == nil)
    }
}
