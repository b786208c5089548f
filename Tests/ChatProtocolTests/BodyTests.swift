import Base
import TestSupport
import Testing

@testable import ChatProtocol

@Suite("Bodies of messages")
struct BodyTests {
    let vectors = try! VectorValue.file("chat")
    let compression = Zstandard.installed

    @Test("the published message is read and written byte for byte")
    func published() throws {
        let text = try vectors["text_message"].text
        let elements = try ChatBody.read(Array(text.utf8), compression: nil)
        let id = try #require(SharedMessageID(bytes: [UInt8](0..<12)))
        let message = ChatMessage(.message(NewMessage(ChatContent(.text, text: "hello"))), id: id)
        #expect(elements == [.message(message)])
        #expect(try ChatBody.write(message, capacity: .message, compression: nil) == Array(text.utf8))
    }

    @Test("the published agent's message holds it")
    func agentMessage() throws {
        let bytes = try vectors["agent_message (id 2, previous hash = sha256 of 49): M"].bytes
        // The letter, a number of 8 bytes, a hash behind its length, the letter of chat messages.
        let body = Array(bytes.dropFirst(1 + 8 + 33 + 1))
        #expect(try ChatBody.read(body, compression: nil).count == 1)
    }

    @Test("the published compressed message", .enabled(if: Zstandard.installed != nil))
    func publishedCompressed() throws {
        let expected = try vectors["compressed_is"].text
        let elements = try ChatBody.read(try vectors["compressed_message"].bytes, compression: compression)
        #expect(elements == [.message(try #require(ChatMessage(decoding: Array(expected.utf8))))])
    }

    @Test("a short message that goes as it is within a compressed body")
    func passedThrough() throws {
        let elements = try ChatBody.read(try vectors["passthrough_in_X"].bytes, compression: nil)
        let expected = try ChatBody.read(Array(try vectors["text_message"].text.utf8), compression: nil)
        #expect(elements == expected)
    }

    @Test("the published chunk of a file")
    func chunk() throws {
        let bytes = try vectors["inline_chunk_1"].bytes
        let chunk = InlineChunk(
            of: try #require(SharedMessageID(bytes: [UInt8](0..<8))), number: 1, bytes: Array("data".utf8))
        #expect(try ChatBody.read(bytes, compression: nil) == [.chunk(chunk)])
        #expect(chunk.encoded == bytes)
    }

    @Test("one message of a batch that makes no sense does not spoil the others")
    func batch() throws {
        let good = ChatMessage(.contactDeleted, id: try Sample.id())
        let body = "[\(good.json),{\"event\":5},\(good.json)]"
        #expect(
            try ChatBody.read(Array(body.utf8), compression: nil)
                == [.message(good), .unreadable, .message(good)])
    }

    @Test(
        "what is no body is refused",
        arguments: [
            "", " ", "{", "[]", "[", "{}", "X", "X\u{0}", "F", "F\u{1}", "F\u{0}\u{0}\u{1}", "=", "hello",
        ])
    func refused(_ text: String) {
        expect(.malformed) { try ChatBody.read(Array(text.utf8), compression: nil) }
    }

    @Test("a batch of too many messages is refused")
    func longBatch() {
        let body = "[" + [String](repeating: "{}", count: 256).joined(separator: ",") + "]"
        expect(.malformed) { try ChatBody.read(Array(body.utf8), compression: nil) }
    }

    @Test("the information of a connection is one message, never several")
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

    @Test("a message goes as it is where it fits, and compressed where it does not")
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

    @Test("with the keys of the post-quantum part there is less space")
    func postQuantum() throws {
        let text = String(repeating: "tea ", count: 3400)
        let message = ChatMessage(.message(NewMessage(ChatContent(.text, text: text))), id: try Sample.id())
        #expect(try ChatBody.write(message, capacity: .message, compression: nil).first == UInt8(ascii: "{"))
        #expect(
            try ChatBody.write(message, capacity: .postQuantumMessage, compression: compression).first
                == UInt8(ascii: "X"))
        expect(.tooLong) { try ChatBody.write(message, capacity: .postQuantumMessage, compression: nil) }
    }

    @Test("what does not become short enough is refused, not cut")
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

    @Test("a message in pieces of both kinds")
    func pieces() throws {
        let message = ChatMessage(.message(NewMessage(ChatContent(.text, text: "in pieces"))), id: nil)
        let bytes = Array(message.json.utf8)
        let (first, rest) = (Array(bytes[..<20]), Array(bytes[20...]))
        let body = body([("0", first), ("1", try frame(rest))])
        #expect(try ChatBody.read(body, compression: compression) == [.message(message)])
    }

    @Test("a bomb is not inflated, neither at once nor in many pieces")
    func bombs() throws {
        let large = try frame([UInt8](repeating: UInt8(ascii: " "), count: 65_537))
        expect(.malformed) { try ChatBody.read(body([("1", large)]), compression: compression) }
        let half = try frame([UInt8](repeating: UInt8(ascii: " "), count: 40_000))
        expect(.malformed) { try ChatBody.read(body([("1", half), ("1", half)]), compression: compression) }
        let huge = try frame([UInt8](repeating: 0, count: 50 << 20))
        #expect(huge.count < 16_000)
        expect(.malformed) { try ChatBody.read(body([("1", huge)]), compression: compression) }
        // Pieces as they are fit into a body often enough only where a body may be longer than it is.
        let raw = [(letter: Character, bytes: [UInt8])](
            repeating: ("0", [UInt8](repeating: 0x20, count: 255)), count: 255)
        expect(.malformed) { try ChatBody.read(body(raw), compression: compression) }
        let full = raw.dropLast(40) + [("1", try frame([UInt8](repeating: 0x20, count: 10_000)))]
        expect(.tooLong) { try ChatBody.read(body(full + raw.prefix(39)), compression: compression) }
    }

    @Test("frames that do not say their length, that follow each other or end early are refused")
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

    @Test("what was compressed twice is refused")
    func twice() throws {
        let inner = body([("1", try frame(Array("{}".utf8)))])
        expect(.malformed) { try ChatBody.read(body([("1", try frame(inner))]), compression: compression) }
    }

    @Test("without the library a compressed message is told apart from a broken one")
    func missing() throws {
        let body = body([("1", try frame(Array(ChatMessage(.contactDeleted, id: nil).json.utf8)))])
        expect(.compressionMissing) { try ChatBody.read(body, compression: nil) }
        #expect(Zstandard(path: "libnothing.so.1") == nil)
        #expect(Zstandard(path: "libc.so.6") == nil)
    }
}
