import Base
import COpenSSL

/// The handshake of a WebSocket (RFC 6455, section 4): an HTTP request and an answer that proves support.
struct WebSocketHandshake {
    /// The maximum length of the answer in bytes.
    static let maxAnswerLength = 16 << 10

    private let key: String

    /// `random` are 16 fresh bytes.
    init(random: [UInt8]) { key = Base64.encode(random) }

    func request(host: String) -> [UInt8] {
        Array(
            """
            GET / HTTP/1.1\r
            Host: \(host)\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Key: \(key)\r
            Sec-WebSocket-Version: 13\r
            \r

            """.utf8)
    }

    /// Reads the received bytes.
    ///
    /// - Returns: The length of the answer, or nil if it is incomplete.
    /// - Throws: `.handshake` if the server is not a WebSocket server.
    func check(_ bytes: [UInt8]) throws(NetworkError) -> Int? {
        // Checked first, so that the size of the pieces does not matter. A server with another greeting will never
        // answer.
        let beginning = Array("HTTP/1.1 101".utf8)
        let common = min(bytes.count, beginning.count)
        guard bytes.prefix(common).elementsEqual(beginning.prefix(common)) else { throw Self.refusal }
        let end = Self.endOfHeader(bytes)
        guard (end ?? bytes.count) <= Self.maxAnswerLength else { throw Self.refusal }
        guard let end else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        guard lines.first?.split(separator: " ").dropFirst().first == "101" else { throw Self.refusal }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw Self.refusal }
            let value = line[line.index(after: colon)...]
            fields[line[..<colon].lowercased()] = String(value.trimmingSpaces)
        }
        guard fields["upgrade"]?.lowercased() == "websocket",
            fields["connection"]?.lowercased().contains("upgrade") == true,
            fields["sec-websocket-accept"] == acceptance,
            fields["sec-websocket-extensions"] == nil, fields["sec-websocket-protocol"] == nil
        else { throw Self.refusal }
        return end
    }

    private static let refusal = NetworkError(
        .handshake, "The server at this address is not a WebSocket server.")

    private static func endOfHeader(_ bytes: [UInt8]) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard bytes.count >= 4 else { return nil }
        for start in 0...(bytes.count - 4) where bytes[start..<start + 4].elementsEqual(mark) {
            return start + 4
        }
        return nil
    }

    /// Returns the server's answer to the key.
    private var acceptance: String {
        let input = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        SHA1(input, input.count, &digest)
        return Base64.encode(digest)
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
