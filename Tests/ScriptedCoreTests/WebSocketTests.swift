import Glibc
import Posix
import Testing

@testable import ScriptedCore

/// Checks the server's side of RFC 6455 with examples of the standards, because client and server could share a
/// misreading.
@Suite struct WebSocketTests {
    @Test("a handshake is answered as in RFC 6455, 1.3")
    func acceptance() {
        #expect(WebSocketAcceptance.answer("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test(
        "SHA-1 as in RFC 3174, 7.3, over the borders of a block",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            (String(repeating: "a", count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        ])
    func digest(text: String, expected: String) {
        let digest = WebSocketAcceptance.digest(Array(text.utf8))
        let hexadecimal = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(hexadecimal == expected)
    }

    @Test("texts are framed as in RFC 6455, 5.7")
    func frames() {
        #expect(
            WebSocketFrames.frame(1, Array("Hello".utf8)) == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        #expect(
            WebSocketFrames.frame(1, Array("Hel".utf8), final: false) == [0x01, 0x03, 0x48, 0x65, 0x6C])
        #expect(WebSocketFrames.frame(0, Array("lo".utf8)) == [0x80, 0x02, 0x6C, 0x6F])
    }

    @Test(
        "lengths have their shortest form",
        arguments: [
            (125, [125] as [UInt8]), (126, [126, 0, 126]), (65_535, [126, 255, 255]),
            (65_536, [127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ])
    func lengths(count: Int, expected: [UInt8]) {
        let frame = WebSocketFrames.frame(2, [UInt8](repeating: 7, count: count))
        #expect(Array(frame.prefix(1 + expected.count)) == [0x82] + expected)
        #expect(frame.count == 1 + expected.count + count)
    }

    /// The two ends of a connection.
    private func pair() throws -> (OpenFile, OpenFile) {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (OpenFile(adopting: ends[0]), OpenFile(adopting: ends[1]))
    }

    @Test("masked frames are read as in RFC 6455, 5.7")
    func masked() throws {
        let (client, server) = try pair()
        let frame: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        Thread.start("test-writer") {
            for byte in frame { WebSocketFrames.send([byte], client.descriptor) }
        }
        let (opcode, payload) = try #require(WebSocketFrames.readFrame(server.descriptor))
        #expect(opcode == 1 && payload == Array("Hello".utf8))
    }

    @Test("unmasked and truncated frames are refused")
    func hostile() throws {
        for bytes: [UInt8] in [
            [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F], [0x81, 0x85, 1, 2, 3, 4, 5], [0x81],
        ] {
            let (client, server) = try pair()
            WebSocketFrames.send(bytes, client.descriptor)
            shutdown(client.descriptor, Int32(SHUT_WR))
            #expect(WebSocketFrames.readFrame(server.descriptor) == nil)
        }
    }

    @Test("endless handshakes are refused")
    func key() throws {
        let (client, server) = try pair()
        let request = "GET / HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: abc==\r\n\r\n"
        WebSocketFrames.send(Array(request.utf8), client.descriptor)
        #expect(WebSocketFrames.readKey(server.descriptor) == "abc==")
        Thread.start("test-writer") {
            WebSocketFrames.send([UInt8](repeating: 65, count: 20_000), client.descriptor)
        }
        #expect(WebSocketFrames.readKey(server.descriptor) == nil)
    }
}
