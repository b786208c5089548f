import Testing

@testable import Network

/// The answer of the WebSocket handshake.
@Suite struct WebSocketHandshakeTests {
    private let handshake = WebSocketHandshake(random: [UInt8](repeating: 7, count: 16))

    private func answer(_ first: String, more: String = "") -> [UInt8] {
        Array(
            """
            \(first)\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Accept: CdXSYUsvsaMthlEXWDNURGWA/1o=\r
            \(more)\r

            """.utf8)
    }

    private func end(_ bytes: some Collection<UInt8>) -> Result<Int?, NetworkError> {
        Result { () throws(NetworkError) in try handshake.check(Array(bytes)) }
    }

    @Test func theAnswerEndsWithItsHeader() throws {
        let answer = answer("HTTP/1.1 101 Switching Protocols")
        #expect(try handshake.check(answer + [0x81, 1, 0x61]) == answer.count)
        for count in 0..<answer.count { #expect(try handshake.check(Array(answer.prefix(count))) == nil) }
    }

    /// Bad answers are refused in pieces of any size.
    @Test(arguments: [
        "HTTP/1.2 101 Switching Protocols", "HTTP/1.0 101 Yes", "HTTP/1.1  101 Yes", "HTTP/1.1 1012 Yes",
        "HTTP/1.1 400 Bad Request", "220 mail ESMTP",
    ])
    func isRefusedInOnePieceAsInMany(_ first: String) {
        let answer = answer(first)
        #expect(throws: NetworkError.self) { try end(answer).get() }
    }

    @Test func longAnswersAreRefused() {
        let long = "X: " + String(repeating: "a", count: WebSocketHandshake.maxAnswerLength) + "\r\n"
        #expect(throws: NetworkError.self) {
            try end(answer("HTTP/1.1 101 Switching Protocols", more: long)).get()
        }
    }
}
