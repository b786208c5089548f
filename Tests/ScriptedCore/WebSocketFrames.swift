import Glibc

/// The server's side of RFC 6455 on a blocking socket.
public enum WebSocketFrames {
    /// Returns the bytes of one unmasked frame. `opcode` 1 is text, 8 close, 9 ping.
    public static func frame(_ opcode: UInt8, _ payload: [UInt8], final: Bool = true) -> [UInt8] {
        var bytes: [UInt8] = [(final ? 0x80 : 0) | opcode]
        if payload.count < 126 {
            bytes.append(UInt8(payload.count))
        } else if payload.count < 65_536 {
            bytes += [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        } else {
            bytes.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: payload.count >> shift))
            }
        }
        return bytes + payload
    }

    static func send(_ bytes: [UInt8], _ connection: Int32) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    static func read(_ connection: Int32, _ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: max(1, min(count, 65_536)))
        while bytes.count < count {
            let got = recv(connection, &buffer, min(buffer.count, count - bytes.count), 0)
            guard got > 0 else { return nil }
            bytes += buffer.prefix(got)
        }
        return bytes
    }

    static func readKey(_ connection: Int32) -> String? {
        var header: [UInt8] = []
        while !header.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
            guard header.count < 8192, let byte = read(connection, 1) else { return nil }
            header += byte
        }
        let text = String(decoding: header, as: UTF8.self)
        let line = text.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }
        return line.map { String($0.dropFirst(19)) }
    }

    static func readFrame(_ connection: Int32) -> (UInt8, [UInt8])? {
        guard let head = read(connection, 2), head[1] & 0x80 != 0 else { return nil }
        var length = Int(head[1] & 0x7F)
        if length >= 126 {
            guard let extended = read(connection, length == 126 ? 2 : 8) else { return nil }
            length = extended.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let mask = read(connection, 4), let payload = read(connection, length) else { return nil }
        return (head[0] & 15, payload.enumerated().map { $1 ^ mask[$0 % 4] })
    }
}
